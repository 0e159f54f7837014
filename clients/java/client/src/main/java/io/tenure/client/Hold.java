package io.tenure.client;

import io.tenure.client.internal.HoldPresence;
import io.tenure.client.internal.link.Link;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A view of what is held, to hand around: it tells whether the hold is valid but does not keep it. */
public sealed class Hold permits Guard {
    private final HoldPresence presence;
    private final Link link;

    Hold(HoldPresence presence, Link link) {
        this.presence = presence;
        this.link = link;
    }

    /**
     * The fencing token, to be sent along with every write that the lock protects. Greater than all tokens granted before it in the
     * namespace.
     */
    public final long token() {
        return presence.token();
    }

    /** The locks that are held, in byte order. */
    public final List<String> names() {
        return presence.names();
    }

    /**
     * Whether the server cannot have given the locks away, decided by the clock at this very moment. Once {@code false} it stays
     * so. A program may still be paused right after asking: that is what the token is for.
     */
    public final boolean isValid() {
        return presence.isValid();
    }

    /** Why it is lost. Null: it is not. */
    public final @Nullable LostReason lostReason() {
        return presence.lost();
    }

    /** Completed when the hold is lost or released: before the server could give the locks away, or as soon as it says so. */
    public final CompletableFuture<LostReason> lost() {
        return firstOf(presence::lost);
    }

    /**
     * Completed when the server asks to hand the locks over: an operator's {@link TenureClient#transfer}, or a better candidate that
     * preempts. The work should then be stopped and the locks released, which confirms the handoff; if they are not in time, the
     * hold goes on.
     */
    public final CompletableFuture<TransferRequest> transferRequested() {
        return firstOf(presence::handoff);
    }

    /** The last such request. Null: there was none. */
    public final @Nullable TransferRequest transferRequest() {
        return presence.handoff();
    }

    /** The work under the hold gets on: see {@link LockRequest#stallAfter}, without which this does nothing. Cheap. */
    public final void tick() {
        presence.tick();
    }

    final HoldPresence presence() {
        return presence;
    }

    final Link link() {
        return link;
    }

    private <T> CompletableFuture<T> firstOf(Supplier<@Nullable T> what) {
        CompletableFuture<T> first = new CompletableFuture<>();
        Runnable listener = () -> {
            T found = what.get();
            if (found != null) {
                Pending.execute(link.callbacks(), () -> first.complete(found));
            }
        };
        presence.listen(listener);
        first.whenComplete((found, error) -> presence.forget(listener));
        return first;
    }
}
