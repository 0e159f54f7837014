package io.tenure.client;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What an operator sets on a lock.
 *
 * @param limit how many permits may be out at once: 1 to 1,000,000. Claims that say another limit are refused. Null: what the
 *     first of the claims that are there says
 * @param preempt whether a waiter of higher priority is handed the lock by the holder. Null: it waits for its turn
 */
public record LockSettings(@Nullable Integer limit, @Nullable Preempt preempt) {
    /** Nothing is set. */
    public static final LockSettings NONE = new LockSettings(null, null);

    /**
     * How a better candidate is handed a lock.
     *
     * @param settling for how long it must have waited: at most 24 h
     * @param drain for how long the holder may go on, to stop its work: 100 ms to 1 h
     */
    public record Preempt(Duration settling, Duration drain) {
        /** 10 s of each. */
        public static final Preempt DEFAULT = new Preempt(Duration.ofSeconds(10), Duration.ofSeconds(10));
    }
}
