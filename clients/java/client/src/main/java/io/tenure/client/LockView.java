package io.tenure.client;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/**
 * A lock as a {@link Lock}: owned by threads, which may enter it again. Entering again is counted here, requests nothing and keeps the
 * token. Errors are {@link TenureException}s.
 *
 * <p>Threads own it through this object: another view of the same lock is another owner. A hold can be lost while a thread owns it:
 * entering again then fails, as does the last {@link #unlock}; see {@link #hold}.
 */
public final class LockView implements Lock {
    private final LockRequest request;
    private final ThreadLocal<Entered> entered = new ThreadLocal<>();

    private static final class Entered {
        final Guard guard;
        int times = 1;

        Entered(Guard guard) {
            this.guard = guard;
        }
    }

    LockView(LockRequest request) {
        this.request = request;
    }

    /** The hold of the current thread, if it owns this lock. */
    public Optional<Hold> hold() {
        return Optional.ofNullable(entered.get()).map(mine -> mine.guard.hold());
    }

    @Override
    public void lock() {
        boolean wasInterrupted = false;
        while (true) {
            try {
                lockInterruptibly();
                break;
            } catch (InterruptedException interrupted) {
                wasInterrupted = true;
            }
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (!entersAgain()) {
            entered.set(new Entered(request.acquire()));
        }
    }

    @Override
    public boolean tryLock() {
        try {
            return entersAgain() || enters(request.tryAcquire());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        Duration wait = Duration.of(Math.max(time, 0), unit.toChronoUnit());
        return entersAgain() || enters(request.acquireWithin(wait));
    }

    /**
     * Leaves the lock, and releases it when it was entered no more often than that.
     *
     * @throws IllegalMonitorStateException if the current thread does not own it
     * @throws TenureException.Lost if the hold was lost meanwhile
     */
    @Override
    public void unlock() {
        Entered mine = entered.get();
        if (mine == null) {
            throw new IllegalMonitorStateException("this thread does not own the lock");
        }
        mine.times--;
        if (mine.times > 0) {
            return;
        }
        entered.remove();
        LostReason lost = mine.guard.lostReason();
        if (lost != null) {
            throw new TenureException.Lost(lost);
        }
        mine.guard.close();
    }

    /** Not supported. */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("a lock of several programs has no conditions");
    }

    private boolean entersAgain() {
        @Nullable Entered mine = entered.get();
        if (mine == null) {
            return false;
        }
        LostReason lost = mine.guard.lostReason();
        if (lost != null) {
            throw new TenureException.Lost(lost);
        }
        mine.times++;
        return true;
    }

    private boolean enters(Attempt<Guard> attempt) {
        attempt.acquired().ifPresent(guard -> entered.set(new Entered(guard)));
        return attempt.acquired().isPresent();
    }
}
