package io.tenure.spring.integration;

import io.tenure.client.LockView;
import io.tenure.client.TenureException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/** A lock whose loss its owner sees when it enters again, and which it can then acquire anew. */
final class RegistryLock implements Lock {
    private final LockView view;

    RegistryLock(LockView view) {
        this.view = view;
    }

    @Override
    public void lock() {
        leaveIfLost();
        view.lock();
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        leaveIfLost();
        view.lockInterruptibly();
    }

    @Override
    public boolean tryLock() {
        return !leaveIfLost() && view.tryLock();
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return !leaveIfLost() && view.tryLock(time, unit);
    }

    @Override
    public void unlock() {
        view.unlock();
    }

    @Override
    public Condition newCondition() {
        return view.newCondition();
    }

    /** Leaves the lock, however often it was entered, if it is lost. */
    private boolean leaveIfLost() {
        boolean isLost = view.hold().map(hold -> !hold.isValid()).orElse(false);
        while (isLost && view.hold().isPresent()) {
            try {
                view.unlock();
            } catch (TenureException.Lost known) {
                // That is why.
            }
        }
        return isLost;
    }
}
