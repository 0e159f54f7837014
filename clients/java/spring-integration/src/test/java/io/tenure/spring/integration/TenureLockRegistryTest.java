package io.tenure.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.tenure.client.SessionOptions;
import io.tenure.client.TenureClient;
import io.tenure.client.testing.TestServer;
import io.tenure.client.v1.EvictRequest;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;

@Timeout(60)
class TenureLockRegistryTest {
    private static final SessionOptions OPTIONS = SessionOptions.defaults().ttl(Duration.ofSeconds(2));
    private TestServer server;
    private TenureClient client;
    private TenureLockRegistry registry;

    @BeforeEach
    void start() throws Exception {
        server = TestServer.start();
        client = TenureClient.connect(server.url());
        registry = new TenureLockRegistry(client, "app/", OPTIONS);
    }

    @AfterEach
    void stop() throws Exception {
        client.close();
        server.close();
    }

    @Test
    void sameKeyIsTheSameLockWhichThreadsMayEnterAgain() throws Exception {
        Lock lock = registry.obtain("a");
        assertThat(registry.obtain("a")).isSameAs(lock);
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
        assertThat(client.getLock("app/a").getHoldersList()).hasSize(1);
        assertThat(CompletableFuture.supplyAsync(lock::tryLock).get(5, TimeUnit.SECONDS))
                .isFalse();
        lock.unlock();
        lock.unlock();
        assertThat(client.getLock("app/a").getHoldersList()).isEmpty();
    }

    @Test
    void lossIsReportedOnceAndThenTheLockCanBeAcquiredAgain() throws Exception {
        Lock lock = registry.obtain("a");
        lock.lock();
        client.evict(
                EvictRequest.newBuilder().setName("app/a").setOperator("op").build());
        CompletableFuture<Boolean> other = CompletableFuture.supplyAsync(() -> {
            lock.lock();
            lock.unlock();
            return true;
        });
        assertThat(other.get(10, TimeUnit.SECONDS)).isTrue();
        assertThat(lock.tryLock()).isFalse();
        assertThat(lock.tryLock(5, TimeUnit.SECONDS)).isTrue();
        lock.unlock();
    }

    /** Records its calls. */
    private static final class Candidate extends DefaultCandidate {
        private final BlockingQueue<String> calls = new LinkedBlockingQueue<>();

        Candidate(String id) {
            super(id, "leader");
        }

        @Override
        public void onGranted(Context context) {
            calls.add("granted");
        }

        @Override
        public void onRevoked(Context context) {
            calls.add("revoked");
        }

        String next() throws InterruptedException {
            return calls.poll(20, TimeUnit.SECONDS);
        }
    }

    private LockRegistryLeaderInitiator initiator(TenureClient of, Candidate candidate) {
        LockRegistryLeaderInitiator initiator =
                new LockRegistryLeaderInitiator(new TenureLockRegistry(of, "app/", OPTIONS), candidate);
        initiator.setHeartBeatMillis(100);
        initiator.setBusyWaitMillis(20);
        initiator.start();
        return initiator;
    }

    @Test
    void leaderInitiatorIsRevokedByAnEvictionAndHandsOverWhenItStops() throws Exception {
        Candidate first = new Candidate("first");
        LockRegistryLeaderInitiator leading = initiator(client, first);
        assertThat(first.next()).isEqualTo("granted");
        client.evict(EvictRequest.newBuilder()
                .setName("app/leader")
                .setOperator("op")
                .build());
        assertThat(first.next()).isEqualTo("revoked");
        assertThat(first.next()).isEqualTo("granted");
        try (TenureClient elsewhere = TenureClient.connect(server.url())) {
            Candidate second = new Candidate("second");
            LockRegistryLeaderInitiator waiting = initiator(elsewhere, second);
            leading.stop();
            assertThat(first.next()).isEqualTo("revoked");
            assertThat(second.next()).isEqualTo("granted");
            waiting.stop();
        }
    }
}
