package io.tenure.spring.boot;

import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.Status;

/** The {@link HealthCheck} in Spring Boot 3. */
final class Boot3HealthIndicator extends AbstractHealthIndicator {
    private final HealthCheck check;

    Boot3HealthIndicator(HealthCheck check) {
        super(HealthCheck.FAILED);
        this.check = check;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) throws Exception {
        builder.status(check.isUp(builder::withDetail) ? Status.UP : Status.DOWN);
    }
}
