package io.tenure.spring.boot;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

/** The {@link HealthCheck} in Spring Boot 4, which moved the classes for health. */
final class Boot4HealthIndicator extends AbstractHealthIndicator {
    private final HealthCheck check;

    Boot4HealthIndicator(HealthCheck check) {
        super(HealthCheck.FAILED);
        this.check = check;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) throws Exception {
        builder.status(check.isUp(builder::withDetail) ? Status.UP : Status.DOWN);
    }
}
