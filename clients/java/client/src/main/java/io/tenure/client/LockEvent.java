package io.tenure.client;

import java.time.Instant;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Something that happened to one lock.
 *
 * @param revision the namespace's revision that this event made
 * @param name the lock
 * @param kind what happened
 * @param claim whose claim it happened to
 * @param endReason why the claim ended, if it did
 * @param operator the operator who did it, if one did
 * @param note the operator's note
 * @param vacant whether nobody holds the lock any more
 * @param time the wall clock of the server that wrote it, for people
 * @param previous the hold that ended, if it was handed over
 * @param settings what is set on the lock from now on, if that is what happened
 */
public record LockEvent(
        long revision,
        String name,
        Kind kind,
        @Nullable Claim claim,
        @Nullable EndReason endReason,
        @Nullable String operator,
        @Nullable String note,
        boolean vacant,
        @Nullable Instant time,
        @Nullable Claim previous,
        @Nullable LockSettings settings) {
    /** What can happen to a lock. */
    public enum Kind {
        /** A claim joined the queue. */
        QUEUED,
        /** A claim was granted: its session holds the lock. */
        GRANTED,
        /** A hold was released before its minimum hold was over. */
        LINGERING,
        /** A claim ended: the hold is over, or the waiter left. */
        ENDED,
        /** The holder was asked to hand over. It holds on until it confirms. */
        TRANSFER_STARTED,
        /** The holder did not confirm in time. It holds on. */
        TRANSFER_CANCELLED,
        /** The hold was handed over in one step: {@code previous} ended and {@code claim} was granted. */
        TRANSFERRED,
        /** The labels of a hold were replaced. */
        UPDATED,
        /** An operator set something on the lock. */
        CONFIGURED,
        /** A kind that this version does not know. */
        UNKNOWN;

        /** The kind in lowercase. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
