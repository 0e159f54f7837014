package io.tenure.spring.boot;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanInitializationException;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;

/** Reads the methods with {@link DistributedLock} when their beans are made, so that mistakes are refused at the start. */
final class LockMethods implements BeanPostProcessor {
    private final ConfigurableBeanFactory factory;
    private final Map<Method, LockedMethod> methods = new ConcurrentHashMap<>();

    LockMethods(ConfigurableBeanFactory factory) {
        this.factory = factory;
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        Class<?> type = AopUtils.getTargetClass(bean);
        if (AnnotationUtils.isCandidateClass(type, DistributedLock.class)) {
            MethodIntrospector.selectMethods(type, this::lock);
        }
        return bean;
    }

    /** The lock of a method. Null: it has none. */
    @Nullable
    LockedMethod lock(Method method) {
        LockedMethod known = methods.get(method);
        DistributedLock lock =
                known == null ? AnnotatedElementUtils.findMergedAnnotation(method, DistributedLock.class) : null;
        if (lock == null) {
            return known;
        }
        try {
            LockedMethod read = new LockedMethod(method, lock, factory::resolveEmbeddedValue);
            methods.put(method, read);
            return read;
        } catch (RuntimeException error) {
            throw new BeanInitializationException("@DistributedLock of " + method + ": " + error.getMessage(), error);
        }
    }
}
