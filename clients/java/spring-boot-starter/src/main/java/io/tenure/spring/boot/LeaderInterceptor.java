package io.tenure.spring.boot;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.ObjectProvider;

/** Runs methods with {@link LeaderOnly} while this program leads. */
final class LeaderInterceptor implements MethodInterceptor {
    private final LeaderMethods methods;
    private final ObjectProvider<Elections> elections;

    LeaderInterceptor(LeaderMethods methods, ObjectProvider<Elections> elections) {
        this.methods = methods;
        this.elections = elections;
    }

    @Override
    public @Nullable Object invoke(MethodInvocation call) throws Throwable {
        Object target = call.getThis();
        String election = methods.election(
                target == null
                        ? call.getMethod()
                        : AopUtils.getMostSpecificMethod(call.getMethod(), AopUtils.getTargetClass(target)));
        if (election == null) {
            throw new IllegalStateException(call.getMethod() + " has no election");
        }
        return elections.getObject().candidate(election).call(call);
    }
}
