package io.tenure.client;

import io.tenure.client.internal.SuspendClock;
import io.tenure.client.internal.Ticks;
import java.time.Duration;

/**
 * A program's own word that it goes on: a {@link #tick} each time that it gets on with its work.
 *
 * <p>A session that is {@linkplain SessionOptions#renewWhile renewed while} there is progress is not renewed if the last tick is
 * too long ago: it is at risk, and then lost with {@link LostReason.Kind#STALLED}, before the server gives its locks to others. If
 * the program ticks again before that, renewal goes on as if nothing had been. Any thread may tick.
 */
public final class Progress {
    private final Ticks ticks;

    private Progress(Ticks ticks) {
        this.ticks = ticks;
    }

    /**
     * Progress that takes a tick in each {@code within}, on a clock that runs while the machine is suspended. The first one is due
     * that long after the session was opened.
     *
     * @throws TenureException.Invalid unless it is more than zero
     */
    public static Progress within(Duration within) {
        if (within.isNegative() || within.isZero()) {
            throw new TenureException.Invalid("stall_after", "no progress can be made within no time");
        }
        return new Progress(new Ticks(within.toNanos(), SuspendClock.SYSTEM.now()));
    }

    /** The program gets on. */
    public void tick() {
        ticks.tick(SuspendClock.SYSTEM.now());
    }

    /** Whether the last tick is too long ago. */
    public boolean isStalled() {
        return ticks.isStalled(Long.MIN_VALUE, SuspendClock.SYSTEM.now());
    }

    Ticks ticks() {
        return ticks;
    }
}
