package io.tenure.spring.boot;

import io.tenure.client.TenureClient;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;

/**
 * Up if a server replies within a second, with the state as it is at the log's head (one whose database is down does not), and no
 * campaign of this program is refused. It uses no class of Spring Boot, whose lines have different ones for health.
 */
final class HealthCheck {
    /** The message of the log, besides the error. */
    static final String FAILED = "the service cannot be reached";
    /** No program requests it: reading it leaves no trace. */
    private static final String ANY_LOCK = "health";
    /** Shorter than the usual time-outs of probes, so that they receive the reason. */
    private static final long TIMEOUT_SECONDS = 1;

    private final TenureClient client;
    private final Elections elections;

    HealthCheck(TenureClient client, Elections elections) {
        this.client = client;
        this.elections = elections;
    }

    /** Passes the details on as it finds them. Throws the error of a server or of the connection: the service is down. */
    boolean isUp(BiConsumer<String, Object> details) throws Exception {
        details.accept("namespace", client.namespace());
        Map<String, String> refusals = elections.refusals();
        if (!refusals.isEmpty()) {
            details.accept("refused", refusals);
        }
        FutureTask<Object> read = new FutureTask<>(() -> client.getLock(ANY_LOCK));
        Thread thread = new Thread(read, "tenure-health");
        thread.setDaemon(true);
        thread.start();
        try {
            read.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
            return refusals.isEmpty();
        } catch (TimeoutException late) {
            details.accept("error", "no reply within " + TIMEOUT_SECONDS + " s");
            return false;
        } catch (ExecutionException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        } finally {
            read.cancel(true);
        }
    }
}
