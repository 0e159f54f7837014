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
 * <p>The lock is taken before a transaction begins and given back after it has ended: the advice comes before that of
 * {@code @Transactional}. A thread that holds the lock already, by an outer method, enters without asking.
 *
 * <p>If the lock is lost while the method runs, its thread is interrupted, and the call fails with
 * {@link io.tenure.client.TenureException.Lost}, whatever came of the method. Code that ignores the interrupt runs to its end, and
 * commits: what it writes should go along with the fencing token, {@code CurrentHold.get().token()}, which the resource checks.
 *
 * <p>As with all advice, only calls from other beans count.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface DistributedLock {
    /** Where this comes among the advice of a method: before transactions, whose order is the last by default. */
    int ORDER = Ordered.LOWEST_PRECEDENCE - 100;

    /** The name of the lock: an expression of Spring, which knows the parameters by {@code #name}, and beans by {@code @name}. */
    String key();

    /**
     * How long to wait for the lock, such as {@code 500ms}, {@code 5s} or {@code ${a.property}}: {@code 0s} tries once. At most 365
     * days. Default: for as long as it takes.
     */
    String waitAtMost() default "";

    /** What happens if somebody else holds the lock at the end of the wait. */
    WhenBusy whenBusy() default WhenBusy.THROW;

    /** How long the lock outlives this program if that dies. Default: {@code tenure.session.ttl}. */
    String ttl() default "";
}
