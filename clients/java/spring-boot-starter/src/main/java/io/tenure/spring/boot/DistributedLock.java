package io.tenure.spring.boot;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.core.Ordered;

/**
 * Runs a method only while it holds a lock, which no other program holds then.
 *
 * <pre>{@code
 * @DistributedLock(key = "'order:' + #id", waitAtMost = "5s")
 * @Transactional
 * public void ship(long id) { ... }
 * }</pre>
 *
 * <p>The lock is acquired before a transaction begins and released after it has ended: the advice comes before that of
 * {@code @Transactional}. A thread that holds the lock already, by an outer method, enters without a request.
 *
 * <p>If the lock is lost while the method runs, its thread is interrupted, and the call fails with
 * {@link io.tenure.client.TenureException.Lost}, regardless of the method's result. Code that ignores the interrupt runs to its end,
 * and commits: its writes should include the fencing token, {@code CurrentHold.get().token()}, which the resource checks.
 *
 * <p>As with all advice, only calls from other beans are intercepted. Mistakes in the annotation (an expression or a duration that
 * cannot be read, a primitive result with {@link WhenBusy#SKIP}) are refused when the bean is made.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface DistributedLock {
    /** Where this comes among the advice of a method: before transactions, whose order is the last by default. */
    int ORDER = Ordered.LOWEST_PRECEDENCE - 100;

    /**
     * The name of the lock: an expression of Spring, in which {@code #name} is a parameter and {@code @name} a bean. It may be
     * evaluated twice for a call. A null, also within a concatenation, is an error of the call.
     */
    String key();

    /**
     * How long to wait for the lock, such as {@code 500ms}, {@code 5s} or {@code ${a.property}}: {@code 0s} makes one attempt. Not
     * negative; at most 10 years. Default: for as long as it takes.
     */
    String waitAtMost() default "";

    /** What happens if another claim holds the lock at the end of the wait. */
    WhenBusy whenBusy() default WhenBusy.THROW;

    /** How long the lock outlives this program: 500 ms to 24 h. Default: {@code tenure.session.ttl}. */
    String ttl() default "";
}
