package io.tenure.spring.boot;

import io.tenure.client.SessionOptions;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.expression.BeanResolver;
import org.springframework.expression.Expression;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/** What a {@link DistributedLock} says, read once. */
final class LockedMethod {
    private static final ParameterNameDiscoverer PARAMETERS = new DefaultParameterNameDiscoverer();

    private final Method method;
    private final Expression key;
    private final @Nullable Duration waitAtMost;
    private final WhenBusy whenBusy;
    private final @Nullable Duration ttl;

    LockedMethod(Method method, DistributedLock lock, UnaryOperator<String> resolve) {
        this.method = method;
        this.key = new SpelExpressionParser().parseExpression(lock.key());
        this.waitAtMost = duration(resolve.apply(lock.waitAtMost()));
        this.whenBusy = lock.whenBusy();
        this.ttl = duration(resolve.apply(lock.ttl()));
        Class<?> answer = method.getReturnType();
        if (whenBusy == WhenBusy.SKIP && answer.isPrimitive() && answer != void.class) {
            throw new IllegalStateException(method + " cannot be skipped: it has to answer a " + answer);
        }
    }

    private static @Nullable Duration duration(String text) {
        return text.isBlank() ? null : DurationStyle.detectAndParse(text);
    }

    String key(MethodInvocation call, BeanResolver beans) {
        MethodBasedEvaluationContext context =
                new MethodBasedEvaluationContext(call.getThis(), method, call.getArguments(), PARAMETERS);
        context.setBeanResolver(beans);
        String found = key.getValue(context, String.class);
        if (found == null) {
            throw new IllegalArgumentException("the key of " + method + " is null: " + key.getExpressionString());
        }
        return found;
    }

    /** Null: for as long as it takes. */
    @Nullable
    Duration waitAtMost() {
        return waitAtMost;
    }

    SessionOptions session(SessionOptions otherwise) {
        return ttl == null ? otherwise : otherwise.ttl(ttl);
    }

    /** Whether a call is left out if somebody else holds the lock. */
    boolean isSkippable() {
        return whenBusy == WhenBusy.SKIP;
    }

    /** What a call answers that was left out. */
    @Nullable
    Object skipped() {
        return method.getReturnType() == Optional.class ? Optional.empty() : null;
    }
}
