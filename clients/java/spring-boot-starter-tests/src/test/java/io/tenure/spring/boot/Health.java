package io.tenure.spring.boot;

import java.util.Map;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.util.ClassUtils;

/** Reads the health of a program by expressions, since its classes have other packages in each line of Spring Boot. */
final class Health {
    /** The interface of all contributors, in the line of this class path. */
    static final Class<?> INDICATOR = indicator(
            "org.springframework.boot.health.contributor.HealthIndicator",
            "org.springframework.boot.actuate.health.HealthIndicator");

    private Health() {}

    private static Class<?> indicator(String four, String three) {
        ClassLoader loader = Health.class.getClassLoader();
        return ClassUtils.resolveClassName(ClassUtils.isPresent(four, loader) ? four : three, loader);
    }

    /** What the bean reports. */
    static String status(BeanFactory beans) {
        return read(beans, "@tenureHealthIndicator.health().status.code", String.class);
    }

    static Map<?, ?> details(BeanFactory beans) {
        return read(beans, "@tenureHealthIndicator.health().details", Map.class);
    }

    /** What the Actuator reports of it. */
    static String reported(BeanFactory beans) {
        return read(beans, "@healthEndpoint.healthForPath('tenure')?.status?.code", String.class);
    }

    private static <T> T read(BeanFactory beans, String expression, Class<T> type) {
        StandardEvaluationContext context = new StandardEvaluationContext();
        context.setBeanResolver(new BeanFactoryResolver(beans));
        return new SpelExpressionParser().parseExpression(expression).getValue(context, type);
    }
}
