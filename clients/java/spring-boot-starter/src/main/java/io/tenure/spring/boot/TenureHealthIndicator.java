package io.tenure.spring.boot;

import io.tenure.client.TenureClient;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

/**
 * Up if a server replies within a second, with the state as it is at the log's head (one whose database is down does not), and no
 * campaign of this program is refused.
 */
final class TenureHealthIndicator extends AbstractHealthIndicator {
    /** No program requests it: reading it leaves no trace. */
    private static final String ANY_LOCK = "health";
    /** Shorter than the usual time-outs of probes, so that they receive the reason. */
    private static final long TIMEOUT_SECONDS = 1;

    private final TenureClient client;
    private final Elections elections;

    TenureHealthIndicator(TenureClient client, Elections elections) {
        super("the service cannot be reached");
        this.client = client;
        this.elections = elections;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) throws InterruptedException {
        builder.withDetail("namespace", client.namespace());
        FutureTask<Object> read = new FutureTask<>(() -> client.getLock(ANY_LOCK));
        Thread thread = new Thread(read, "tenure-health");
        thread.setDaemon(true);
        thread.start();
        try {
            read.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
            builder.up();
        } catch (TimeoutException late) {
            builder.down().withDetail("error", "no reply within " + TIMEOUT_SECONDS + " s");
        } catch (ExecutionException error) {
            builder.down(error.getCause());
        } finally {
            read.cancel(true);
        }
        Map<String, String> refusals = elections.refusals();
        if (!refusals.isEmpty()) {
            builder.down().withDetail("refused", refusals);
        }
    }
}
