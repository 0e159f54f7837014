package io.tenure.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.tenure.client.Guard;
import io.tenure.client.LostReason;
import io.tenure.client.TenureClient;
import io.tenure.client.TenureException;
import io.tenure.client.testing.TestServer;
import io.tenure.client.v1.EvictRequest;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;

@Timeout(120)
class DistributedLockTest {
    private static TestServer server;

    private ConfigurableApplicationContext program;
    private Orders orders;
    private TenureClient other;
    private MeterRegistry registry;

    @EnableAutoConfiguration
    @EnableTransactionManagement
    @Import({Orders.class, Transactions.class})
    static class Program {
        @Bean
        MeterRegistry registry() {
            return new SimpleMeterRegistry();
        }
    }

    /** Records whether the lock is held when transactions begin and end. */
    static class Transactions extends AbstractPlatformTransactionManager implements PlatformTransactionManager {
        private static final long serialVersionUID = 1;

        final transient List<String> recorded = new CopyOnWriteArrayList<>();

        @Autowired
        private transient TenureClient client;

        private void record(String what) {
            try {
                recorded.add(what + " with holders: "
                        + client.getLock("order:7").getHoldersList().size());
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        }

        @Override
        protected Object doGetTransaction() {
            return this;
        }

        @Override
        protected void doBegin(Object transaction, TransactionDefinition definition) {
            record("begin");
        }

        @Override
        protected void doCommit(DefaultTransactionStatus status) {
            record("commit");
        }

        @Override
        protected void doRollback(DefaultTransactionStatus status) {
            record("rollback");
        }
    }

    /** An order, which may not have an id yet. */
    record Order(Long id) {}

    static class Orders {
        private final CountDownLatch begun = new CountDownLatch(1);

        @Autowired
        private Nested nested;

        @Transactional
        @DistributedLock(key = "'order:' + #id")
        public long ship(long id) {
            return CurrentHold.get().token();
        }

        @DistributedLock(key = "'order:' + #id", waitAtMost = "${patience:0s}")
        public long tryToShip(long id) {
            return CurrentHold.get().token();
        }

        @DistributedLock(key = "'order:' + #id", waitAtMost = "10ms", whenBusy = WhenBusy.SKIP)
        public Optional<Long> shipUnlessBusy(long id) {
            return Optional.of(CurrentHold.get().token());
        }

        @DistributedLock(key = "'order:' + #id", ttl = "3s")
        public String shipForLong(long id) throws InterruptedException {
            begun.countDown();
            new CountDownLatch(1).await();
            return "shipped " + id;
        }

        @DistributedLock(key = "'customer:' + (#name ?: 'unknown') + ':' + #order.id")
        public String bill(String name, Order order) {
            return CurrentHold.get().names().get(0);
        }

        @DistributedLock(key = "#name")
        public String billAll(String name) {
            return name;
        }

        public void awaitBegun() throws InterruptedException {
            begun.await();
        }

        @DistributedLock(key = "'order:' + #id")
        public boolean shipWithNested(long id) {
            return nested.ship(id) == CurrentHold.get().token();
        }
    }

    static class Nested {
        @DistributedLock(key = "'order:' + #id", waitAtMost = "0s")
        public long ship(long id) {
            return CurrentHold.get().token();
        }
    }

    @BeforeAll
    static void startServer() throws Exception {
        server = TestServer.start();
    }

    @AfterAll
    static void stopServer() throws Exception {
        server.close();
    }

    @BeforeEach
    void start() {
        program = new SpringApplication(Program.class, Nested.class)
                .run("--tenure.endpoints=" + server.url(), "--tenure.session.owner=ann");
        orders = program.getBean(Orders.class);
        registry = program.getBean(MeterRegistry.class);
        other = TenureClient.connect(server.url());
    }

    @AfterEach
    void stop() {
        other.close();
        program.close();
    }

    private double count(String name, String tag, String value) {
        return registry.get(name)
                .tag(tag, value)
                .meter()
                .measure()
                .iterator()
                .next()
                .getValue();
    }

    @Test
    void lockIsHeldFromBeforeTheTransactionUntilAfterIt() throws Exception {
        long token = orders.ship(7);
        assertThat(token).isPositive();
        assertThat(program.getBean(Transactions.class).recorded)
                .containsExactly("begin with holders: 1", "commit with holders: 1");
        assertThat(other.getLock("order:7").getHoldersList()).isEmpty();
        assertThat(orders.ship(7)).isGreaterThan(token);
        assertThat(count("tenure.acquire", "outcome", "acquired")).isEqualTo(2);
        assertThat(registry.get("tenure.locks.held").gauge().value()).isZero();
        assertThatThrownBy(CurrentHold::get).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void lockOfAnotherClaimIsAnError() throws Exception {
        try (Guard guard = other.lock("order:7").owner("bob").acquire()) {
            assertThatThrownBy(() -> orders.tryToShip(7))
                    .isInstanceOfSatisfying(LockNotAcquiredException.class, busy -> {
                        assertThat(busy.key()).isEqualTo("order:7");
                        assertThat(busy.holder().getToken()).isEqualTo(guard.token());
                        assertThat(busy).hasMessageContaining("bob");
                    });
            assertThat(orders.tryToShip(8)).isPositive();
            assertThat(count("tenure.acquire", "outcome", "busy")).isEqualTo(1);
        }
    }

    @Test
    void callIsSkippedIfAnotherClaimHoldsTheLock() throws Exception {
        try (Guard guard = other.lock("order:7").acquire()) {
            assertThat(orders.shipUnlessBusy(7)).isEmpty();
        }
        assertThat(orders.shipUnlessBusy(7)).isPresent();
    }

    @Test
    void threadThatHoldsTheLockEntersAgain() {
        assertThat(orders.shipWithNested(7)).isTrue();
    }

    @Test
    void lossInterruptsTheMethodAndFailsTheCall() throws Exception {
        CompletableFuture<String> shipped = CompletableFuture.supplyAsync(() -> {
            try {
                return orders.shipForLong(7);
            } catch (InterruptedException escaped) {
                throw new IllegalStateException(escaped);
            }
        });
        orders.awaitBegun();
        assertThat(registry.get("tenure.locks.held").gauge().value()).isEqualTo(1);
        assertThat(other.getLock("order:7").getHoldersList())
                .allSatisfy(holder -> assertThat(holder.getOwner()).isEqualTo("ann"));
        other.evict(EvictRequest.newBuilder()
                .setName("order:7")
                .setOperator("carol")
                .build());
        assertThatThrownBy(shipped::join)
                .isInstanceOf(CompletionException.class)
                .cause()
                .isInstanceOfSatisfying(TenureException.Lost.class, lost -> {
                    assertThat(lost.reason().kind()).isEqualTo(LostReason.Kind.ENDED);
                    assertThat(lost.reason().ended().getOperator()).isEqualTo("carol");
                    assertThat(lost.getSuppressed()).hasAtLeastOneElementOfType(InterruptedException.class);
                });
        assertThat(count("tenure.losses", "reason", "ended")).isEqualTo(1);
        assertThat(registry.get("tenure.locks.held").gauge().value()).isZero();
    }

    @Test
    void interruptEndsTheWait() throws Exception {
        try (Guard guard = other.lock("order:7").acquire()) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> orders.ship(7))
                    .isInstanceOf(LockNotAcquiredException.class)
                    .hasCauseInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();
            assertThat(guard.isValid()).isTrue();
        }
    }

    @Test
    void nullInAKeyIsAnErrorUnlessItIsReplaced() {
        assertThat(orders.bill(null, new Order(7L))).isEqualTo("customer:unknown:7");
        assertThatThrownBy(() -> orders.bill("ann", new Order(null)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("#order.id");
        assertThatThrownBy(() -> orders.billAll(null)).isInstanceOf(IllegalArgumentException.class);
    }

    static class BadKey {
        @DistributedLock(key = "'order:' + ")
        public void ship() {}
    }

    static class BadWait {
        @DistributedLock(key = "'order'", waitAtMost = "soon")
        public void ship() {}
    }

    static class NegativeTtl {
        @DistributedLock(key = "'order'", ttl = "-1s")
        public void ship() {}
    }

    static class SkippedPrimitive {
        @DistributedLock(key = "'order'", whenBusy = WhenBusy.SKIP)
        public int ship() {
            return 1;
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {BadKey.class, BadWait.class, NegativeTtl.class, SkippedPrimitive.class})
    void mistakesAreRefusedAtTheStart(Class<?> mistaken) {
        SpringApplication started = new SpringApplication(Program.class, Nested.class, mistaken);
        assertThatThrownBy(
                        () -> started.run("--tenure.endpoints=" + server.url()).close())
                .isInstanceOf(BeanCreationException.class)
                .hasMessageContaining("@DistributedLock of")
                .hasMessageContaining(mistaken.getSimpleName());
    }
}
