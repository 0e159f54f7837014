package io.tenure.client;

import org.jspecify.annotations.Nullable;

/** Runs something only while a lock is held. */
final class UnderLock {
    private UnderLock() {}

    /** Runs a body until it ends or the hold is lost, and gives back. */
    static <T extends @Nullable Object> T run(Guard guard, Body<T> body) throws Exception {
        Interrupter interrupter = new Interrupter(Thread.currentThread());
        Runnable listener = () -> {
            if (guard.lostReason() != null) {
                interrupter.fire();
            }
        };
        guard.presence().listen(listener);
        try {
            T value = body.run(guard.hold());
            interrupter.disarm();
            throwIfLost(guard, null);
            return value;
        } catch (TenureException.Lost lost) {
            throw lost;
        } catch (Exception error) {
            interrupter.disarm();
            throwIfLost(guard, error);
            throw error;
        } finally {
            interrupter.disarm();
            guard.presence().forget(listener);
            guard.close();
        }
    }

    private static void throwIfLost(Guard guard, @Nullable Exception error) {
        LostReason reason = guard.lostReason();
        if (reason != null) {
            TenureException.Lost lost = new TenureException.Lost(reason);
            if (error != null) {
                lost.addSuppressed(error);
            }
            throw lost;
        }
    }
}
