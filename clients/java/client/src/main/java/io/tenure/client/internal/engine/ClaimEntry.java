package io.tenure.client.internal.engine;

import io.tenure.client.Claim;
import io.tenure.client.LostReason;
import io.tenure.client.Refusal;
import io.tenure.client.TenureException;
import io.tenure.client.internal.Backoff;
import io.tenure.client.internal.Clock;
import io.tenure.client.internal.HoldPresence;
import io.tenure.client.v1.Answer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One claim: an acquire from asking, by way of the local queue, to the end of the hold. */
final class ClaimEntry {
    /** Where a claim stands. */
    enum Stage {
        /** Waits for its turn among the claims of this session. */
        QUEUED,
        /** The server is asked. */
        ASKING,
        /** Granted. */
        HELD,
        /** The server is asked to take it back. */
        RELEASING,
        /** Nobody wants it any more, but the server is still asked for it: it was asked to answer that at once. */
        STOPPING,
        /** Nobody wants it any more: the server is asked to forget it, whether it waits or was granted. */
        WITHDRAWING
    }

    final long key;
    final AcquireSpec spec;
    final CompletableFuture<Granted> acquired;
    /** Called when the claim is over, unless its session is. */
    final Runnable gone;
    /** {@link Clock#NEVER}: it waits for ever. */
    final long waitUntil;
    /** From then on nobody waits for the server's answer any more. */
    final long giveUp;

    final Backoff backoff = Backoff.ofCalls();

    Stage stage = Stage.QUEUED;
    /** The command that is under way; 0: none. */
    long command;

    @Nullable
    HoldPresence hold;

    @Nullable
    CompletableFuture<Void> released;

    @Nullable
    Refusal refusal;
    /** A notice about these locks that may have overtaken the answer that they are granted. */
    @Nullable
    Answer early;

    Timers.@Nullable Timer waitTimer;
    Timers.@Nullable Timer answerTimer;

    ClaimEntry(
            long key,
            AcquireSpec spec,
            long waitUntil,
            long giveUp,
            CompletableFuture<Granted> acquired,
            Runnable gone) {
        this.key = key;
        this.spec = spec;
        this.waitUntil = waitUntil;
        this.giveUp = giveUp;
        this.acquired = acquired;
        this.gone = gone;
    }

    boolean isAcquiring() {
        return stage == Stage.QUEUED || stage == Stage.ASKING;
    }

    /** Whether it is held under this token. */
    boolean holds(long token) {
        return stage == Stage.HELD && hold != null && hold.token() == token;
    }

    /** The session is lost. */
    void lose(LostReason reason) {
        if (isAcquiring()) {
            acquired.completeExceptionally(new TenureException.Lost(reason));
        } else if (stage == Stage.HELD && hold != null) {
            hold.end(reason);
        } else if (released != null) {
            released.completeExceptionally(new TenureException.Lost(reason));
        }
    }

    /** How it looks to others of its session. */
    Claim describe(String sessionId, String owner) {
        boolean isHeld = hold != null;
        return new Claim(
                0,
                spec.names(),
                isHeld ? Claim.State.HELD : Claim.State.WAITING,
                hold == null ? 0 : hold.token(),
                sessionId,
                owner,
                spec.metadata(),
                spec.priority(),
                Duration.ofNanos(spec.minHold()),
                spec.mode(),
                null,
                List.of());
    }
}
