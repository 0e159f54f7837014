package io.tenure.client;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Work that is done again and again while leading. */
final class Periodic implements Election.Work {
    /** A loop that waits for its next body tells that it goes on, so many times before it would count as stalled ... */
    private static final int TICKS_WHILE_WAITING = 3;
    /** ... but not oftener than this. */
    private static final long SHORTEST_TICK = 1_000_000L;

    private final long period;
    private final long often;
    private final Election.Work work;

    Periodic(Duration period, @Nullable Duration stallAfter, Election.Work work) {
        this.period = period.toNanos();
        this.often = stallAfter == null
                ? Long.MAX_VALUE
                : Math.max(stallAfter.toNanos() / TICKS_WHILE_WAITING, SHORTEST_TICK);
        this.work = work;
    }

    @Override
    public void run(Hold leadership) throws Exception {
        Semaphore handoff = new Semaphore(0);
        Runnable listener = () -> {
            if (leadership.transferRequest() != null) {
                handoff.release();
            }
        };
        leadership.presence().listen(listener);
        try {
            long next = System.nanoTime();
            // The process may have been paused since the last look; between two bodies there is nothing to drain.
            while (leadership.isValid() && leadership.transferRequest() == null) {
                work.run(leadership);
                leadership.tick();
                next = Math.max(next + period, System.nanoTime());
                waitUntil(next, handoff, leadership);
            }
        } finally {
            leadership.presence().forget(listener);
        }
    }

    /** To wait is no stall, however long the period is. */
    private void waitUntil(long next, Semaphore handoff, Hold leadership) throws InterruptedException {
        long left = next - System.nanoTime();
        while (left > 0 && !handoff.tryAcquire(Math.min(left, often), TimeUnit.NANOSECONDS)) {
            leadership.tick();
            left = next - System.nanoTime();
            if (leadership.transferRequest() != null) {
                return;
            }
        }
        leadership.tick();
    }
}
