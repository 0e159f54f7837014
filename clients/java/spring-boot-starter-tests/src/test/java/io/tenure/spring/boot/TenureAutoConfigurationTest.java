package io.tenure.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.tenure.client.ClientOptions;
import io.tenure.client.SessionOptions;
import io.tenure.client.TenureClient;
import io.tenure.client.TenureException;
import io.tenure.client.testing.Eventually;
import io.tenure.client.testing.TestServer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.env.SystemEnvironmentPropertySource;

@Timeout(120)
class TenureAutoConfigurationTest {
    private final ApplicationContextRunner contexts = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    TenureAutoConfiguration.class,
                    TenureMetricsAutoConfiguration.class,
                    TenureHealthAutoConfiguration.class));

    @Test
    void absentPropertiesAreTheClientsDefaults() {
        contexts.withPropertyValues("tenure.endpoints=", "tenure.namespace=").run(context -> {
            TenureProperties properties = context.getBean(TenureProperties.class);
            assertThat(properties.clientOptions()).usingRecursiveComparison().isEqualTo(ClientOptions.defaults());
            assertThat(properties.session().options()).isEqualTo(SessionOptions.defaults());
        });
    }

    @Test
    void propertiesHaveTheNamesOfAllClients() {
        contexts.withPropertyValues(
                        "tenure.endpoints=http://127.0.0.1:1,127.0.0.1:2",
                        "tenure.namespace=jobs",
                        "tenure.connect-timeout=1s",
                        "tenure.call-timeout=2s",
                        "tenure.session.ttl=3s",
                        "tenure.session.disconnect-grace=400ms",
                        "tenure.session.owner=ann")
                .run(context -> {
                    TenureProperties properties = context.getBean(TenureProperties.class);
                    assertThat(properties.clientOptions())
                            .usingRecursiveComparison()
                            .isEqualTo(ClientOptions.defaults()
                                    .endpoints(List.of("http://127.0.0.1:1", "127.0.0.1:2"))
                                    .namespace("jobs")
                                    .connectTimeout(Duration.ofSeconds(1))
                                    .callTimeout(Duration.ofSeconds(2)));
                    assertThat(properties.session().options())
                            .isEqualTo(SessionOptions.defaults()
                                    .ttl(Duration.ofSeconds(3))
                                    .disconnectGrace(Duration.ofMillis(400))
                                    .owner("ann"));
                });
    }

    @Test
    void propertiesSecureConnections() {
        new ApplicationContextRunner()
                .withUserConfiguration(Unconnected.class)
                .withPropertyValues(
                        "tenure.ca-cert=ca.pem",
                        "tenure.client-cert=me.pem",
                        "tenure.client-key=me.key",
                        "tenure.tls-server-name=office",
                        "tenure.token=secret",
                        "tenure.token-file=token")
                .run(context -> {
                    TenureProperties properties = context.getBean(TenureProperties.class);
                    assertThat(properties.clientOptions())
                            .usingRecursiveComparison()
                            .isEqualTo(ClientOptions.defaults()
                                    .caCert(Path.of("ca.pem"))
                                    .clientCert(Path.of("me.pem"), Path.of("me.key"))
                                    .tlsServerName("office")
                                    .token("secret")
                                    .tokenFile(Path.of("token")));
                    assertThat(properties.toString()).doesNotContain("secret");
                });
    }

    @Test
    void theEnvironmentVariablesOfAllClientsAreRead() {
        Map<String, Object> environment = Map.of(
                "TENURE_CA_CERT", "ca.pem",
                "TENURE_CLIENT_CERT", "",
                "TENURE_TLS_SERVER_NAME", "office",
                "TENURE_TOKEN", "",
                "TENURE_TOKEN_FILE", "token");
        new ApplicationContextRunner()
                .withUserConfiguration(Unconnected.class)
                .withInitializer(context -> context.getEnvironment()
                        .getPropertySources()
                        .addFirst(new SystemEnvironmentPropertySource("test-systemEnvironment", environment)))
                .run(context -> assertThat(
                                context.getBean(TenureProperties.class).clientOptions())
                        .usingRecursiveComparison()
                        .isEqualTo(ClientOptions.defaults()
                                .caCert(Path.of("ca.pem"))
                                .tlsServerName("office")
                                .tokenFile(Path.of("token"))));
    }

    /** The properties without a client of them. */
    @EnableConfigurationProperties(TenureProperties.class)
    private static final class Unconnected {}

    @Test
    void invalidOptionIsRefusedAtTheStart() {
        contexts.withPropertyValues("tenure.call-timeout=0s")
                .run(context -> assertThat(context).getFailure().hasRootCauseInstanceOf(TenureException.Invalid.class));
    }

    @Test
    void propertiesAreDescribedForEditors() throws IOException {
        try (InputStream metadata = getClass().getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
            assertThat(metadata).isNotNull();
            assertThat(new String(metadata.readAllBytes(), StandardCharsets.UTF_8))
                    .contains(
                            "\"tenure.endpoints\"",
                            "\"tenure.session.disconnect-grace\"",
                            "\"tenure.token-file\"",
                            "the servers, as URLs",
                            "the name that the servers' certificates must have");
        }
    }

    @Test
    void clientOfTheProgramIsUsedIfItHasOne() {
        try (TenureClient own = TenureClient.connect("http://127.0.0.1:1")) {
            contexts.withBean(TenureClient.class, () -> own)
                    .run(context ->
                            assertThat(context.getBean(TenureClient.class)).isSameAs(own));
        }
    }

    @Test
    void clientIsClosedWithTheProgram() throws Exception {
        try (TestServer server = TestServer.start()) {
            AtomicReference<TenureClient> client = new AtomicReference<>();
            contexts.withPropertyValues("tenure.endpoints=" + server.url()).run(context -> {
                client.set(context.getBean(TenureClient.class));
                assertThat(client.get().lock("report").tryAcquire().acquired().isPresent())
                        .isTrue();
            });
            assertThatThrownBy(() -> client.get().getLock("report")).isInstanceOf(TenureException.Closed.class);
            try (TenureClient other = TenureClient.connect(server.url())) {
                assertThat(other.getLock("report").getHoldersList()).isEmpty();
            }
        }
    }

    @Test
    void healthIsUpIfAServerReplies() throws Exception {
        try (TestServer server = TestServer.start()) {
            contexts.withPropertyValues("tenure.endpoints=" + server.url(), "tenure.call-timeout=60s")
                    .run(context -> {
                        assertThat(context).hasSingleBean(Health.INDICATOR);
                        Eventually.holds("a server answers", () -> "UP".equals(Health.status(context)));
                        server.kill();
                        // With a time-out of its own, which is shorter than that of calls.
                        assertThat(Health.status(context)).isEqualTo("DOWN");
                    });
        }
    }

    @Test
    void metricsAndHealthNeedTheirLibraries() {
        contexts.withBean(SimpleMeterRegistry.class).run(context -> assertThat(context.getBean(TenureObserver.class))
                .isInstanceOf(MicrometerObserver.class));
        contexts.withClassLoader(new FilteredClassLoader(MeterRegistry.class, Health.INDICATOR))
                .run(context -> {
                    assertThat(context.getBean(TenureObserver.class)).isSameAs(TenureObserver.NONE);
                    assertThat(context).doesNotHaveBean("tenureHealthIndicator");
                });
    }
}
