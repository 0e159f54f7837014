package io.tenure.spring.boot;

import io.tenure.client.Hold;
import io.tenure.client.LostReason;
import io.tenure.client.TenureException;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/** Calls methods under a hold. */
final class UnderHold {
    private UnderHold() {}

    /** Calls a method on this thread, which may be interrupted until then. A call whose hold is lost fails. */
    static @Nullable Object call(Hold hold, Interruption interruption, MethodInvocation method) throws Throwable {
        CurrentHold.enter(hold);
        try {
            Object value = method.proceed();
            interruption.disarm();
            throwIfLost(hold, null);
            return value;
        } catch (TenureException.Lost lost) {
            throw lost;
        } catch (Throwable error) {
            throwIfLost(hold, error);
            throw error;
        } finally {
            interruption.disarm();
            CurrentHold.leave();
        }
    }

    private static void throwIfLost(Hold hold, @Nullable Throwable error) {
        LostReason reason = hold.lostReason();
        if (reason != null) {
            TenureException.Lost lost = new TenureException.Lost(reason);
            if (error != null) {
                lost.addSuppressed(error);
            }
            throw lost;
        }
    }
}
