package io.tenure.client;

import io.tenure.client.transport.Clock;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The progress of a program, as the program reports it: by a {@link #tick} at each step of its work.
 *
 * <p>A session that is {@linkplain SessionOptions#renewWhile renewed while} there is progress ends like that of a program that died, if
 * the last tick is too long ago: it is no longer renewed, is at risk, and then lost with {@link LostReason.Kind#STALLED}, before the
 * server grants its locks to others. If the program ticks before that, renewal continues. Any thread may tick; that is cheap.
 */
public final class Progress {
    private final long within;
    private final AtomicLong last = new AtomicLong(Clock.now());

    private Progress(long within) {
        this.within = within;
    }

    /**
     * Progress that requires a tick in each {@code within}, on a clock that runs while the machine is suspended. The first one is due
     * this long after the session was opened.
     *
     * @throws TenureException.Invalid unless it is more than zero
     */
    public static Progress within(Duration within) {
        if (within.isNegative() || within.isZero()) {
            throw new TenureException.Invalid("stall_after", "it is not more than zero");
        }
        return new Progress(within.toNanos());
    }

    /** Reports progress. */
    public void tick() {
        last.set(Clock.now());
    }

    /** Whether the last tick is too long ago. */
    public boolean isStalled() {
        return isStalled(Long.MIN_VALUE, Clock.now());
    }

    /** Whether it is stalled at {@code now}, for something that began at {@code since}: earlier reports are ignored. */
    boolean isStalled(long since, long now) {
        return now - Math.max(last.get(), since) >= within;
    }
}
