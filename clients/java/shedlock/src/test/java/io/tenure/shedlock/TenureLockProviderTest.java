package io.tenure.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tenure.client.ClientOptions;
import io.tenure.client.Guard;
import io.tenure.client.SessionOptions;
import io.tenure.client.TenureClient;
import io.tenure.client.testing.Eventually;
import io.tenure.client.testing.TestServer;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** ShedLock's own tests of a provider, and some more. */
class TenureLockProviderTest extends AbstractExtensibleLockProviderIntegrationTest {
    private TestServer server;
    private TenureClient client;

    @BeforeEach
    void start() throws Exception {
        server = TestServer.start();
        client = TenureClient.connect(server.url());
    }

    @AfterEach
    void stop() throws Exception {
        client.close();
        server.close();
    }

    @Override
    protected ExtensibleLockProvider getLockProvider() {
        return new TenureLockProvider(client);
    }

    @Override
    protected void assertUnlocked(String name) {
        try {
            // A lock whose time is over is released in the background.
            Eventually.holds(
                    "it has no holder",
                    () -> client.getLock(name).getHoldersList().isEmpty());
        } catch (InterruptedException interrupted) {
            throw new AssertionError(interrupted);
        }
    }

    @Override
    protected void assertLocked(String name) {
        try {
            assertThat(client.getLock(name).getHoldersList()).isNotEmpty();
        } catch (InterruptedException interrupted) {
            throw new AssertionError(interrupted);
        }
    }

    @Test
    void lockOutlivesItsHolderByItsMinimumOnly() throws Exception {
        TenureClient dying = TenureClient.connect(server.url());
        TenureLockProvider provider =
                new TenureLockProvider(dying, SessionOptions.defaults().ttl(Duration.ofSeconds(2)));
        assertThat(provider.lock(lockConfig(LOCK_NAME1, Duration.ofHours(1), Duration.ZERO)))
                .isPresent();
        dying.close();
        assertUnlocked(LOCK_NAME1);
    }

    @Test
    void lockWhoseTimeIsOverIsNotExtendedHoweverLateTheTimerIs() throws Exception {
        ScheduledExecutorService late = Executors.newSingleThreadScheduledExecutor();
        CountDownLatch busy = new CountDownLatch(1);
        late.submit(() -> {
            busy.await();
            return null;
        });
        try {
            Guard guard = client.lock(LOCK_NAME1).acquire();
            long start = System.nanoTime();
            Duration atMost = Duration.ofMillis(2);
            SimpleLock lock = TenureSimpleLock.granted(lockConfig(LOCK_NAME1, atMost, Duration.ZERO), guard, late);
            long granted = System.nanoTime() - start;
            Eventually.holds("its time is over", () -> System.nanoTime() - start > atMost.toNanos() + granted);
            assertThat(lock.extend(Duration.ofSeconds(10), Duration.ZERO)).isEmpty();
            busy.countDown();
            assertUnlocked(LOCK_NAME1);
        } finally {
            busy.countDown();
            late.shutdown();
        }
    }

    @Test
    void lockWithoutAServerIsAnError() {
        ClientOptions nowhere =
                ClientOptions.defaults().endpoints("127.0.0.1:1").callTimeout(Duration.ofMillis(200));
        try (TenureClient lonely = TenureClient.connect(nowhere)) {
            TenureLockProvider provider = new TenureLockProvider(lonely);
            assertThatThrownBy(() -> provider.lock(lockConfig(LOCK_NAME1))).isInstanceOf(LockException.class);
        }
    }

    @Test
    void namesAndMinimumsOutOfBoundsAreRefusedWithTheBound() {
        TenureLockProvider provider = new TenureLockProvider(client);
        assertThatThrownBy(() -> provider.lock(lockConfig(
                        LOCK_NAME1, Duration.ofHours(25), Duration.ofHours(24).plusMillis(1))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at most 24 h");
        assertThatThrownBy(() -> provider.lock(lockConfig("\u00e9".repeat(128))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at most 255 bytes");
        assertThat(provider.lock(lockConfig("n".repeat(255), Duration.ofHours(25), Duration.ofHours(24))))
                .isPresent();
    }
}
