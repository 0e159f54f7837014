package io.tenure.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.tenure.client.TenureClient;
import io.tenure.client.testing.Eventually;
import io.tenure.client.testing.TestServer;
import io.tenure.client.v1.Claim;
import io.tenure.client.v1.EvictRequest;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

@Timeout(120)
class LeaderOnlyTest {
    private TestServer server;
    private TenureClient client;

    @EnableAutoConfiguration
    @EnableScheduling
    @Import({Billing.class, Office.class})
    static class Program {
        @Bean
        MeterRegistry registry() {
            return new SimpleMeterRegistry();
        }
    }

    static class Office {
        @LeaderOnly("billing")
        public String close() {
            return "closed";
        }
    }

    /** Its work lasts until it is interrupted. */
    static class Billing {
        @Autowired
        private Office office;

        private final BlockingQueue<Long> begun = new LinkedBlockingQueue<>();
        private final BlockingQueue<Long> interrupted = new LinkedBlockingQueue<>();

        @Scheduled(fixedDelay = 20)
        @LeaderOnly("${billing.election:billing}")
        public void send() throws InterruptedException {
            long token = CurrentHold.get().token();
            begun.add(token);
            try {
                new CountDownLatch(1).await();
            } finally {
                // For leaders only, which this is not any more: that does not keep it from ending.
                if (office.close() == null) {
                    interrupted.add(token);
                }
            }
        }

        @LeaderOnly("${billing.election:billing}")
        public String send(String what) {
            return what;
        }

        public BlockingQueue<Long> begun() {
            return begun;
        }

        public BlockingQueue<Long> interrupted() {
            return interrupted;
        }
    }

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

    private ConfigurableApplicationContext program(String owner) {
        return new SpringApplication(Program.class)
                .run("--tenure.endpoints=" + server.url(), "--tenure.session.owner=" + owner);
    }

    private static double leading(ConfigurableApplicationContext program) {
        return program.getBean(MeterRegistry.class)
                .get("tenure.leading")
                .tag("election", "billing")
                .gauge()
                .value();
    }

    private void awaitWaiters(int count) throws InterruptedException {
        Eventually.holds("candidates wait", () -> client.getLock("billing").getWaitersCount() == count);
    }

    @Test
    void methodRunsOnlyWhereItLeadsAndIsInterruptedOnALoss() throws Exception {
        try (ConfigurableApplicationContext ann = program("ann")) {
            Billing first = ann.getBean(Billing.class);
            long token = first.begun().take();
            assertThat(leading(ann)).isEqualTo(1);
            // One candidate, for two methods.
            assertThat(first.send("paper")).isEqualTo("paper");
            assertThat(client.getLock("billing").getHoldersList())
                    .extracting(Claim::getToken)
                    .containsExactly(token);
            try (ConfigurableApplicationContext bob = program("bob")) {
                awaitWaiters(1);
                Billing second = bob.getBean(Billing.class);
                assertThat(second.send("paper")).isNull();
                assertThat(leading(bob)).isZero();
                assertThat(second.begun()).isEmpty();

                client.evict(EvictRequest.newBuilder()
                        .setName("billing")
                        .setOperator("carol")
                        .build());
                assertThat(first.interrupted().take()).isEqualTo(token);
                assertThat(second.begun().take()).isGreaterThan(token);
                Eventually.holds(
                        "the loss is counted",
                        () -> ann.getBean(MeterRegistry.class)
                                        .find("tenure.losses")
                                        .counter()
                                != null);
            }
        }
    }

    @Test
    void programThatStopsResignsWhenItsWorkHasEnded() throws Exception {
        try (ConfigurableApplicationContext bob = program("bob")) {
            Billing second = bob.getBean(Billing.class);
            long token = second.begun().take();
            try (ConfigurableApplicationContext ann = program("ann")) {
                awaitWaiters(1);
                Billing first = ann.getBean(Billing.class);
                bob.getBean(Elections.class).stop();
                // What was interrupted has ended before the other begins.
                assertThat(second.interrupted()).containsExactly(token);
                assertThat(first.begun().take()).isGreaterThan(token);
                assertThat(leading(bob)).isZero();
            }
        }
    }

    private static String tokenLine(String token) throws Exception {
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
        return "worker sha256:" + HexFormat.of().formatHex(hash) + "\n";
    }

    @Test
    void refusedCandidateContinuesAndItsHealthIsDownMeanwhile(@TempDir Path folder) throws Exception {
        Path tokens = Files.writeString(folder.resolve("tokens"), tokenLine("other"));
        try (TestServer secured = TestServer.start("--tokens-file", tokens.toString());
                ConfigurableApplicationContext program = new SpringApplication(Program.class)
                        .run("--tenure.endpoints=" + secured.url(), "--tenure.token=late")) {
            Gauge refused = program.getBean(MeterRegistry.class)
                    .get("tenure.campaign.refused")
                    .tag("election", "billing")
                    .gauge();
            Eventually.holds("it is refused", () -> refused.value() == 1);
            assertThat(Health.status(program)).isEqualTo("DOWN");
            assertThat(Health.details(program).containsKey("refused")).isTrue();
            Path next = Files.writeString(folder.resolve("next"), tokenLine("late"));
            Files.move(next, tokens, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            assertThat(program.getBean(Billing.class).begun().take()).isPositive();
            assertThat(refused.value()).isZero();
            Eventually.holds("its health is up", () -> "UP".equals(Health.status(program)));
        }
    }
}
