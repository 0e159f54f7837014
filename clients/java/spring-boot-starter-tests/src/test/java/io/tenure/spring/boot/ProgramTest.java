package io.tenure.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.MeterRegistry;
import io.tenure.client.testing.Eventually;
import io.tenure.client.testing.TestServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;

/** A program with the Actuator, which has all its beans from auto-configuration. */
@Timeout(120)
class ProgramTest {
    @EnableAutoConfiguration
    static class Program {
        @DistributedLock(key = "'report'")
        public void write() {}
    }

    @Test
    void bootIsOfTheLineUnderTest() {
        assertThat(SpringBootVersion.getVersion()).isEqualTo(System.getProperty("spring-boot.version"));
    }

    @Test
    void actuatorReportsHealth() throws Exception {
        try (TestServer server = TestServer.start();
                ConfigurableApplicationContext program =
                        new SpringApplication(Program.class).run("--tenure.endpoints=" + server.url())) {
            Eventually.holds("its health is up", () -> "UP".equals(Health.reported(program)));
            server.kill();
            assertThat(Health.reported(program)).isEqualTo("DOWN");
        }
    }

    @Test
    void registryOfTheProgramHasMetrics() throws Exception {
        try (TestServer server = TestServer.start();
                ConfigurableApplicationContext program =
                        new SpringApplication(Program.class).run("--tenure.endpoints=" + server.url())) {
            program.getBean(Program.class).write();
            MeterRegistry registry = program.getBean(MeterRegistry.class);
            assertThat(registry.get("tenure.locks.held").gauge().value()).isZero();
            assertThat(registry.get("tenure.acquire")
                            .tag("outcome", "acquired")
                            .timer()
                            .count())
                    .isEqualTo(1);
        }
    }

    @Test
    void healthIsAbsentIfAPropertyDisablesIt() {
        try (ConfigurableApplicationContext program =
                new SpringApplication(Program.class).run("--management.health.tenure.enabled=false")) {
            assertThat(program.containsBean("tenureHealthIndicator")).isFalse();
            assertThat(Health.reported(program)).isNull();
        }
    }
}
