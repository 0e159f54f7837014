package io.tenure.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.tenure.client.ClientOptions;
import io.tenure.client.SessionOptions;
import io.tenure.client.TenureClient;
import io.tenure.client.testing.TestServer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.integration.support.locks.LockRegistry;

/** The code of {@code clients/guides/from-jdbc-lock-registry.md}. */
@Timeout(60)
class GuideTest {
    // snippet: registry
    LockRegistry lockRegistry(TenureClient client) {
        return new TenureLockRegistry(
                client, "billing/", SessionOptions.defaults().ttl(Duration.ofSeconds(10)));
    }
    // snippet end

    // snippet: initiator
    LockRegistryLeaderInitiator leaderInitiator(LockRegistry registry) {
        LockRegistryLeaderInitiator initiator = new LockRegistryLeaderInitiator(registry);
        initiator.setHeartBeatMillis(1_000);
        return initiator;
    }
    // snippet end

    /** One with patience, on a busy machine. */
    private static TenureClient client(TestServer server) {
        return TenureClient.connect(
                ClientOptions.defaults().endpoints(server.url()).callTimeout(Duration.ofSeconds(30)));
    }

    @Test
    void twoProgramsDoNotHaveOneLock() throws Exception {
        try (TestServer server = TestServer.start();
                TenureClient one = client(server);
                TenureClient other = client(server)) {
            LockRegistry registry = lockRegistry(one);
            // snippet: use
            Lock lock = registry.obtain("orders");
            if (lock.tryLock(5, TimeUnit.SECONDS)) {
                try {
                    process();
                } finally {
                    lock.unlock();
                }
            }
            // snippet end
            lock.lock();
            assertThat(lockRegistry(other).obtain("orders").tryLock()).isFalse();
            lock.unlock();
            assertThat(leaderInitiator(registry).isRunning()).isFalse();
        }
        assertThat(processed).isTrue();
    }

    private boolean processed;

    private void process() {
        processed = true;
    }
}
