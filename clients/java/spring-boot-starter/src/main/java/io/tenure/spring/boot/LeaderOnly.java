package io.tenure.spring.boot;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs a method only while this program leads: for {@code @Scheduled} methods that one of several equal programs is to run.
 *
 * <pre>{@code
 * @Scheduled(fixedDelay = 1, timeUnit = TimeUnit.SECONDS)
 * @LeaderOnly("billing")
 * void sendInvoices() { ... }
 * }</pre>
 *
 * <p>The program campaigns from its start to its end, once for each name, however many methods have it; also after a refusal, though
 * slowly: meanwhile its health is down. A call while another leads does nothing, and returns null; so the method must not have a
 * primitive result. When the leadership is lost or is to be handed over, the threads in such methods are interrupted; the next one
 * leads when they have ended, or when the leadership is lost. A call whose leadership was lost fails with
 * {@link io.tenure.client.TenureException.Lost}. The fencing token is {@code CurrentHold.get().token()}.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface LeaderOnly {
    /** The name of the election, which may have {@code ${properties}}. */
    String value();
}
