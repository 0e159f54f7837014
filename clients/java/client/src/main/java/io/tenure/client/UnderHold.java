package io.tenure.client;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Runs work only while a hold is valid: its thread is interrupted once, as long as it is at that work. */
final class UnderHold {
    private final Thread thread = Thread.currentThread();
    private boolean isArmed = true;
    private boolean hasFired;

    private UnderHold() {}

    private synchronized void interrupt() {
        if (isArmed) {
            isArmed = false;
            hasFired = true;
            thread.interrupt();
        }
    }

    /** From here on the thread is not interrupted, and no longer if it was. Called by that thread. */
    private synchronized void disarm() {
        isArmed = false;
        if (hasFired) {
            Thread.interrupted();
        }
    }

    /**
     * Runs a body until it ends or the hold is lost, and releases the hold.
     *
     * @param handsOver whether the body is interrupted, too, when the hold is to be handed over: no matter how the body ends then
     */
    static <T extends @Nullable Object> T run(Guard guard, Body<T> body, boolean handsOver) throws Exception {
        UnderHold work = new UnderHold();
        Runnable listener = () -> {
            Handoff handoff = guard.transferRequest();
            if (guard.lostReason() != null) {
                work.interrupt();
            } else if (handsOver && handoff != null) {
                CompletableFuture.delayedExecutor(handoff.remaining().toNanos(), TimeUnit.NANOSECONDS)
                        .execute(work::interrupt);
            }
        };
        T result = null;
        Exception failure = null;
        LostReason reason;
        guard.presence().listen(listener);
        try {
            result = body.run(guard.hold());
        } catch (Exception error) {
            failure = error;
        } finally {
            work.disarm();
            guard.presence().forget(listener);
            reason = guard.lostReason();
            guard.close();
        }
        if (reason != null) {
            TenureException.Lost lost = new TenureException.Lost(reason);
            if (failure != null) {
                lost.addSuppressed(failure);
            }
            throw lost;
        }
        if (failure != null && !(handsOver && work.hasFired)) {
            throw failure;
        }
        return result;
    }
}
