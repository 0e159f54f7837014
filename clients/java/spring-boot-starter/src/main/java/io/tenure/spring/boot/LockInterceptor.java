package io.tenure.spring.boot;

import io.tenure.client.Attempt;
import io.tenure.client.Guard;
import io.tenure.client.LockRequest;
import io.tenure.client.LostReason;
import io.tenure.client.SessionOptions;
import io.tenure.client.TenureClient;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.expression.BeanResolver;

/** Runs methods with {@link DistributedLock} under their locks. */
final class LockInterceptor implements MethodInterceptor {
    private final LockMethods methods;
    private final BeanResolver beans;
    private final ObjectProvider<TenureClient> client;
    private final ObjectProvider<TenureProperties> properties;
    private final ObjectProvider<TenureObserver> observer;

    LockInterceptor(
            LockMethods methods,
            BeanResolver beans,
            ObjectProvider<TenureClient> client,
            ObjectProvider<TenureProperties> properties,
            ObjectProvider<TenureObserver> observer) {
        this.methods = methods;
        this.beans = beans;
        this.client = client;
        this.properties = properties;
        this.observer = observer;
    }

    @Override
    public @Nullable Object invoke(MethodInvocation call) throws Throwable {
        LockedMethod method = method(call);
        String key = method.key(call, beans);
        if (CurrentHold.isOf(key)) {
            return call.proceed();
        }
        SessionOptions session = method.session(properties.getObject().session().options());
        Attempt<Guard> attempt = request(key, client.getObject().lock(key).session(session), method.waitAtMost());
        if (attempt instanceof Attempt.Busy<Guard> busy) {
            if (method.isSkippable()) {
                return method.skipped();
            }
            throw new LockNotAcquiredException(
                    key, busy.busy().hasHolder() ? busy.busy().getHolder() : null);
        }
        return run(attempt.acquired().orElseThrow(), call);
    }

    private LockedMethod method(MethodInvocation call) {
        Object target = call.getThis();
        Method called = target == null
                ? call.getMethod()
                : AopUtils.getMostSpecificMethod(call.getMethod(), AopUtils.getTargetClass(target));
        LockedMethod method = methods.lock(called);
        if (method == null) {
            throw new IllegalStateException(called + " has no lock");
        }
        return method;
    }

    private Attempt<Guard> request(String key, LockRequest request, @Nullable Duration waitAtMost) {
        long start = System.nanoTime();
        TenureObserver.Outcome outcome = TenureObserver.Outcome.FAILED;
        try {
            Attempt<Guard> attempt =
                    waitAtMost == null ? new Attempt.Acquired<>(request.acquire()) : request.acquireWithin(waitAtMost);
            outcome = attempt.acquired().isPresent() ? TenureObserver.Outcome.ACQUIRED : TenureObserver.Outcome.BUSY;
            return attempt;
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new LockNotAcquiredException(key, interrupted);
        } finally {
            observer.getObject().asked(outcome, Duration.ofNanos(System.nanoTime() - start));
        }
    }

    private @Nullable Object run(Guard guard, MethodInvocation call) throws Throwable {
        Interruption interruption = new Interruption();
        CompletableFuture<LostReason> lost = guard.lost();
        lost.thenRun(interruption::fire);
        observer.getObject().held(1);
        try {
            return UnderHold.call(guard, interruption, call);
        } finally {
            lost.cancel(false);
            LostReason reason = guard.lostReason();
            if (reason != null) {
                observer.getObject().lost(reason);
            }
            guard.close();
            observer.getObject().held(-1);
        }
    }
}
