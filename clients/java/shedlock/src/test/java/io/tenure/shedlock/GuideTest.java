package io.tenure.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import io.tenure.client.ClientOptions;
import io.tenure.client.SessionOptions;
import io.tenure.client.TenureClient;
import io.tenure.client.testing.TestServer;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import org.junit.jupiter.api.Test;

/** The code of {@code clients/guides/from-shedlock.md}. */
class GuideTest {
    // snippet: provider
    LockProvider lockProvider(TenureClient client) {
        return new TenureLockProvider(client, SessionOptions.defaults().ttl(Duration.ofSeconds(10)));
    }
    // snippet end

    /** One with patience, on a busy machine. */
    private static TenureClient client(TestServer server) {
        return TenureClient.connect(
                ClientOptions.defaults().endpoints(server.url()).callTimeout(Duration.ofSeconds(30)));
    }

    @Test
    void aTaskRunsOnceHoweverManyHostsStartIt() throws Exception {
        AtomicInteger runs = new AtomicInteger();
        try (TestServer server = TestServer.start();
                TenureClient one = client(server);
                TenureClient other = client(server)) {
            for (TenureClient client : new TenureClient[] {one, other, one}) {
                LockConfiguration job = new LockConfiguration(
                        Instant.now(), "nightly-report", Duration.ofMinutes(10), Duration.ofMinutes(1));
                new DefaultLockingTaskExecutor(lockProvider(client))
                        .executeWithLock((Runnable) runs::incrementAndGet, job);
            }
        }
        assertThat(runs).hasValue(1);
    }
}
