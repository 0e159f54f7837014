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
import org.springframework.expression.spel.ExpressionState;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.OpPlus;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/** A {@link DistributedLock}, read once. */
final class LockedMethod {
    private static final ParameterNameDiscoverer PARAMETERS = new DefaultParameterNameDiscoverer();

    private final Method method;
    private final SpelExpression key;
    private final @Nullable Duration waitAtMost;
    private final WhenBusy whenBusy;
    private final @Nullable Duration ttl;

    LockedMethod(Method method, DistributedLock lock, UnaryOperator<@Nullable String> resolve) {
        this.method = method;
        this.key = new SpelExpressionParser().parseRaw(lock.key());
        this.waitAtMost = duration("waitAtMost", resolve.apply(lock.waitAtMost()));
        this.whenBusy = lock.whenBusy();
        this.ttl = duration("ttl", resolve.apply(lock.ttl()));
        Class<?> result = method.getReturnType();
        if (whenBusy == WhenBusy.SKIP && result.isPrimitive() && result != void.class) {
            throw new IllegalArgumentException("it cannot be skipped, because its result is a primitive " + result);
        }
    }

    private static @Nullable Duration duration(String field, @Nullable String text) {
        if (text == null || text.isBlank()) {
            return null;
        }
        Duration duration = DurationStyle.detectAndParse(text);
        if (duration.isNegative()) {
            throw new IllegalArgumentException(field + " is negative: " + text);
        }
        return duration;
    }

    /** The name of the lock. A null in it is an error: it would be the same lock for everything without a value. */
    String key(MethodInvocation call, BeanResolver beans) {
        MethodBasedEvaluationContext context =
                new MethodBasedEvaluationContext(call.getThis(), method, call.getArguments(), PARAMETERS);
        context.setBeanResolver(beans);
        requireNoNull(key.getAST(), new ExpressionState(context));
        String found = key.getValue(context, String.class);
        if (found == null) {
            throw nullIn(key.getAST());
        }
        return found;
    }

    /** Looks for a null in a concatenation, which would become the text "null". */
    private void requireNoNull(SpelNode node, ExpressionState state) {
        if (!(node instanceof OpPlus)) {
            return;
        }
        for (int child = 0; child < node.getChildCount(); child++) {
            SpelNode operand = node.getChild(child);
            requireNoNull(operand, state);
            if (!(operand instanceof OpPlus) && operand.getValue(state) == null) {
                throw nullIn(operand);
            }
        }
    }

    private IllegalArgumentException nullIn(SpelNode operand) {
        return new IllegalArgumentException(
                "the key of " + method + " is null: " + operand.toStringAST() + " in " + key.getExpressionString());
    }

    /** Null: for as long as it takes. */
    @Nullable
    Duration waitAtMost() {
        return waitAtMost;
    }

    SessionOptions session(SessionOptions otherwise) {
        return ttl == null ? otherwise : otherwise.ttl(ttl);
    }

    /** Whether a call is skipped if another claim holds the lock. */
    boolean isSkippable() {
        return whenBusy == WhenBusy.SKIP;
    }

    /** The result of a call that was skipped. */
    @Nullable
    Object skipped() {
        return method.getReturnType() == Optional.class ? Optional.empty() : null;
    }
}
