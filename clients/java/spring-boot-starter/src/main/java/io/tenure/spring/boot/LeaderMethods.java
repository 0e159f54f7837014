package io.tenure.spring.boot;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanInitializationException;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;

/** Finds the methods with {@link LeaderOnly}, so that the program campaigns before they are called. */
final class LeaderMethods implements BeanPostProcessor {
    private final ConfigurableBeanFactory factory;
    private final Set<String> names = ConcurrentHashMap.newKeySet();

    LeaderMethods(ConfigurableBeanFactory factory) {
        this.factory = factory;
    }

    /** The elections of the methods that were found. */
    Set<String> names() {
        return names;
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        Class<?> type = AopUtils.getTargetClass(bean);
        if (AnnotationUtils.isCandidateClass(type, LeaderOnly.class)) {
            Map<Method, String> found = MethodIntrospector.selectMethods(type, this::election);
            found.forEach((method, name) -> {
                Class<?> result = method.getReturnType();
                if (result.isPrimitive() && result != void.class) {
                    throw new BeanInitializationException(
                            method + " cannot be for leaders only, because its result is a primitive " + result);
                }
                names.add(name);
            });
        }
        return bean;
    }

    /** The election of a method. Null: it is not for leaders only. */
    @Nullable
    String election(Method method) {
        LeaderOnly only = AnnotatedElementUtils.findMergedAnnotation(method, LeaderOnly.class);
        return only == null ? null : factory.resolveEmbeddedValue(only.value());
    }
}
