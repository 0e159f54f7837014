package io.tenure.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.tenure.client.testing.Authority;
import io.tenure.client.testing.Eventually;
import io.tenure.client.testing.TestServer;
import io.tenure.client.v1.ErrorReason;
import io.tenure.client.v1.Refusal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Against a real server that speaks TLS and asks who calls. */
@Timeout(60)
class SecuredTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Duration IMPATIENCE = Duration.ofMillis(300);

    @TempDir
    private static Path folder;

    private static Authority authority;
    private static Path tokens;
    private static TestServer server;

    @BeforeAll
    static void startServer() throws Exception {
        authority = new Authority("the office");
        Authority.Certified certified = authority.certify("server", "DNS:localhost");
        tokens = Files.writeString(folder.resolve("tokens"), line("known"));
        server = TestServer.start(
                "--tls-cert", certified.cert().toString(),
                "--tls-key", certified.key().toString(),
                "--tls-client-ca", authority.cert().toString(),
                "--tokens-file", tokens.toString());
    }

    @AfterAll
    static void stopServer() throws Exception {
        server.close();
    }

    private static String line(String token) throws Exception {
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
        return "worker sha256:" + HexFormat.of().formatHex(hash) + "\n";
    }

    /** Of a client that knows the authority. */
    private static ClientOptions options() {
        return ClientOptions.defaults()
                .endpoints(server.secureUrl())
                .callTimeout(PATIENCE)
                .caCert(authority.cert());
    }

    private static ClientOptions certified(Authority by, String name) throws Exception {
        Authority.Certified certified = by.certify("client", name);
        return options().clientCert(certified.cert(), certified.key());
    }

    /** Acquires a lock, reads it by a plain call, and releases it. */
    private static void use(TenureClient client) throws InterruptedException {
        try (Guard guard = client.lock("job").acquire()) {
            assertThat(Messages.holder(client.getLock("job")))
                    .hasValueSatisfying(holder -> assertThat(holder.getToken()).isEqualTo(guard.token()));
        }
    }

    private static void use(ClientOptions options) throws InterruptedException {
        try (TenureClient client = TenureClient.connect(options)) {
            use(client);
        }
    }

    /** The rule by which both the stream and a plain call are refused, long before the time of a call is over. */
    private static String rule(ClientOptions options) {
        try (TenureClient client = TenureClient.connect(options)) {
            long begun = System.nanoTime();
            Refusal session = refusal(() -> client.lock("job").acquire());
            Refusal plain = refusal(() -> client.getLock("job"));
            assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(PATIENCE.dividedBy(2));
            assertThat(plain).isEqualTo(session);
            return session.getMetadataMap().get("rule");
        }
    }

    private interface Asking {
        void ask() throws Exception;
    }

    private static Refusal refusal(Asking asking) {
        TenureException.Refused refused = catchThrowableOfType(TenureException.Refused.class, asking::ask);
        assertThat(refused).isNotNull();
        assertThat(refused.reason()).isEqualTo(ErrorReason.ERROR_REASON_UNAUTHENTICATED);
        return refused.refusal();
    }

    /** No server answers, and the error has the reason, once a connection was tried. */
    private static void assertUnavailable(ClientOptions options, String reason) throws InterruptedException {
        try (TenureClient client = TenureClient.connect(options.callTimeout(IMPATIENCE))) {
            Eventually.holds(reason, () -> {
                TenureException.Unavailable unavailable =
                        catchThrowableOfType(TenureException.Unavailable.class, () -> client.getLock("job"));
                assertThat(unavailable).isNotNull();
                return unavailable.getMessage().contains(reason);
            });
        }
    }

    @Test
    void certificateAuthenticates() throws Exception {
        use(certified(authority, "URI:spiffe://office/worker"));
        use(certified(authority, "DNS:worker.office"));
        assertThat(rule(certified(authority, "IP:10.0.0.1"))).isEqualTo("certificate-name");
        // TLS shows a certificate only where its authority is asked for.
        assertThat(rule(certified(new Authority("a stranger"), "DNS:worker.office")))
                .isEqualTo("credentials-required");
    }

    @Test
    void tokenAuthenticates() throws Exception {
        use(options().token(" known\n"));
        use(options().tokenFile(Files.writeString(folder.resolve("known"), "known\n")));
        assertThat(rule(options())).isEqualTo("credentials-required");
        assertThat(rule(options().token("wrong"))).isEqualTo("known-token");
        assertThat(rule(certified(authority, "DNS:worker.office").token("wrong")))
                .isEqualTo("known-token");
    }

    @Test
    void untrustedServerIsReportedWithTheReason() throws Exception {
        Authority stranger = new Authority("a stranger");
        assertUnavailable(options().caCert(stranger.cert()), "unable to find valid certification path");
        assertUnavailable(options().tlsServerName("elsewhere"), "matching elsewhere found");
        assertUnavailable(ClientOptions.defaults().endpoints(server.url()), server.url());
        Path nonsense = Files.writeString(folder.resolve("nonsense"), "nonsense");
        assertUnavailable(options().caCert(nonsense), "No certificate data found");
    }

    @Test
    void serverMayHaveAnotherNameThanItsHost() throws Exception {
        ClientOptions byAddress =
                options().endpoints(server.url().replace("http://", "https://")).token("known");
        assertUnavailable(byAddress, "matching IP address 127.0.0.1");
        use(byAddress.tlsServerName("localhost"));
    }

    @Test
    void refusalIsReportedUnlessAnotherServerAcceptsTheStream() throws Exception {
        try (TestServer open = TestServer.start()) {
            use(ClientOptions.defaults().endpoints(open.url()).callTimeout(PATIENCE));
            // A round is over when both have answered.
            use(options().endpoints(server.secureUrl(), open.url()).connectTimeout(PATIENCE));
        }
        assertThat(rule(options().endpoints(server.secureUrl(), "http://127.0.0.1:1", "http://127.0.0.1:2")))
                .isEqualTo("credentials-required");
    }

    @Test
    void tokensMayBeReplacedWhileTheClientRuns() throws Exception {
        Path mine = Files.writeString(folder.resolve("mine"), "first");
        Files.writeString(tokens, line("first"), StandardOpenOption.APPEND);
        try (TenureClient client = TenureClient.connect(options().tokenFile(mine))) {
            Eventually.holds("the token is known", () -> isTaken(client));
            replace(tokens, line("known") + line("second"));
            Eventually.holds("the token is not known any more", () -> !isTaken(client));
            replace(mine, "second");
            Eventually.holds("it shows the second", () -> isTaken(client));
            use(client);
        }
    }

    private static boolean isTaken(TenureClient client) throws InterruptedException {
        try {
            client.getLock("job");
            return true;
        } catch (TenureException.Refused refused) {
            assertThat(refused.reason()).isEqualTo(ErrorReason.ERROR_REASON_UNAUTHENTICATED);
            return false;
        }
    }

    @Test
    void certificatesAreReadForEachConnection() throws Exception {
        Authority successor = new Authority("its successor");
        Authority.Certified certified = successor.certify("server", "DNS:localhost");
        Path trusted = Files.copy(authority.cert(), folder.resolve("trusted"));
        try (TestServer next = TestServer.start(
                        "--tls-cert",
                        certified.cert().toString(),
                        "--tls-key",
                        certified.key().toString());
                TenureClient client = TenureClient.connect(
                        options().endpoints(next.secureUrl()).caCert(trusted))) {
            assertUnavailable(
                    options().endpoints(next.secureUrl()).caCert(trusted), "unable to find valid certification path");
            replace(trusted, Files.readString(successor.cert()));
            use(client);
        }
    }

    private static void replace(Path file, String content) throws Exception {
        Path successor = Files.writeString(file.resolveSibling(file.getFileName() + ".new"), content);
        Files.move(successor, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
