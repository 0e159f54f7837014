package io.tenure.shedlock;

import io.tenure.client.Guard;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/** A lock that is held until it is released, or its time is over. */
final class TenureSimpleLock extends AbstractSimpleLock {
    private final Guard guard;
    private final ScheduledExecutorService timers;
    /** Releases it when its time is over. */
    private final ScheduledFuture<?> end;
    /** By {@link System#nanoTime}: it is not released before ... */
    private final long notBefore;
    /** ... and is over then, however late the timer is. */
    private final long over;

    private TenureSimpleLock(
            LockConfiguration configuration, Guard guard, ScheduledExecutorService timers, Duration atLeast) {
        super(configuration);
        this.guard = guard;
        this.timers = timers;
        long now = System.nanoTime();
        long atMost = configuration.getLockAtMostFor().toNanos();
        this.notBefore = now + atLeast.toNanos();
        this.over = now + atMost;
        this.end = timers.schedule(guard::close, atMost, TimeUnit.NANOSECONDS);
    }

    /** One that was just granted, with what it is to be held at least for. */
    static TenureSimpleLock granted(LockConfiguration configuration, Guard guard, ScheduledExecutorService timers) {
        return new TenureSimpleLock(configuration, guard, timers, Duration.ZERO);
    }

    @Override
    protected void doUnlock() {
        long left = notBefore - System.nanoTime();
        end.cancel(false);
        if (left > 0) {
            timers.schedule(guard::close, left, TimeUnit.NANOSECONDS);
        } else {
            guard.close();
        }
    }

    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration extended) {
        if (System.nanoTime() - over >= 0 || !end.cancel(false) || !guard.isValid()) {
            return Optional.empty();
        }
        return Optional.of(new TenureSimpleLock(extended, guard, timers, extended.getLockAtLeastFor()));
    }
}
