package io.tenure.client;

import io.tenure.client.protocol.Presence;
import io.tenure.client.protocol.Status;
import io.tenure.client.transport.Clock;
import io.tenure.client.transport.Connection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A view of what is held, to hand around: it shows whether the hold is valid but does not keep it. */
public sealed class Hold permits Guard {
    private final Presence presence;
    private final List<String> names;
    private final long token;
    private final @Nullable Progress progress;

    Hold(Presence presence, List<String> names, long token, @Nullable Progress progress) {
        this.presence = presence;
        this.names = names;
        this.token = token;
        this.progress = progress;
    }

    /**
     * The fencing token, to be sent along with every write that the lock protects. Greater than all tokens granted before it in the
     * namespace.
     */
    public final long token() {
        return token;
    }

    /** The locks that are held, in byte order. */
    public final List<String> names() {
        return names;
    }

    /**
     * Whether the server cannot have ended the hold, decided by the clock at this moment. Once {@code false} it stays so. A program may
     * still be paused right after the check: the token protects against that.
     */
    public final boolean isValid() {
        return lostReason() == null;
    }

    /** Why it is lost, decided by the clock at this moment. Null: it is not. */
    public final @Nullable LostReason lostReason() {
        return presence.lostReason(Clock.now());
    }

    /** Completed when the hold is lost or released: before the server could end it, or as soon as it reports the end. */
    public final CompletableFuture<LostReason> lost() {
        return Connection.when(presence, this::lostReason);
    }

    /**
     * Completed when the server asks to hand the locks over: an operator's {@link TenureClient#transfer}, or a better candidate that
     * preempts. The work should then stop and release the locks, which confirms the handoff; otherwise the hold remains.
     */
    public final CompletableFuture<Handoff> transferRequested() {
        return Connection.when(presence, this::transferRequest);
    }

    /** The present request. Null: there is none. */
    public final @Nullable Handoff transferRequest() {
        return presence.status() instanceof Status.Held held && held.state().hasTransfer()
                ? new Handoff(held.state().getTransfer(), held.since())
                : null;
    }

    /** Reports progress of the work under the hold: see {@link LockRequest#stallAfter}. Cheap; any thread may call it. */
    public final void tick() {
        if (progress != null) {
            progress.tick();
        }
    }

    final Presence presence() {
        return presence;
    }
}
