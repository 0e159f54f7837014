package io.tenure.spring.boot;

import io.tenure.client.TenureClient;
import io.tenure.client.TenureException;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

/** Up if a server answers, with the state as it is at the log's head: one whose database is away does not. */
final class TenureHealthIndicator extends AbstractHealthIndicator {
    /** Nobody asks for it: to read it leaves no trace. */
    private static final String ANY_LOCK = "health";

    private final TenureClient client;

    TenureHealthIndicator(TenureClient client) {
        super("the service cannot be reached");
        this.client = client;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) throws InterruptedException {
        builder.withDetail("namespace", client.namespace());
        try {
            client.getLock(ANY_LOCK);
            builder.up();
        } catch (TenureException error) {
            builder.down(error);
        }
    }
}
