package io.tenure.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is checked before there is a connection. */
class SecurityTest {
    private static final String FAR = "https://far:1";

    @TempDir
    private Path folder;

    private static void assertRefused(ClientOptions given, String endpoint, String field, String problem) {
        ClientOptions options = given.endpoints(endpoint);
        TenureException.Invalid invalid =
                catchThrowableOfType(TenureException.Invalid.class, () -> TenureClient.connect(options)
                        .close());
        assertThat(invalid).isNotNull();
        assertThat(invalid.field()).isEqualTo(field);
        assertThat(invalid).hasMessageContaining(problem);
    }

    private Path file(String content) throws IOException {
        return Files.writeString(folder.resolve("file"), content);
    }

    @Test
    void certificateAndItsKeyAreSetTogether() throws Exception {
        Path file = file("anything");
        String problem = "client_cert and client_key are set together";
        assertRefused(ClientOptions.defaults().clientCert(file, null), FAR, "client_cert", problem);
        assertRefused(ClientOptions.defaults().clientCert(null, file), FAR, "client_key", problem);
    }

    @Test
    void tokenIsSetByItselfOrInAFile() throws Exception {
        ClientOptions both = ClientOptions.defaults().token("secret").tokenFile(file("secret"));
        assertRefused(both, FAR, "token", "token_file is set as well");
    }

    @Test
    void tokenThatNoHeaderMayHoldIsRejected() throws Exception {
        assertRefused(ClientOptions.defaults().token(" "), FAR, "token", "is empty");
        assertRefused(ClientOptions.defaults().token("a\nb"), FAR, "token", "letters that no header may have");
        assertRefused(ClientOptions.defaults().tokenFile(file("\n")), FAR, "token_file", "is empty");
    }

    @Test
    void missingFilesAreRejected() throws Exception {
        Path file = file("anything");
        Path missing = folder.resolve("missing");
        String problem = missing + " (No such file or directory)";
        assertRefused(ClientOptions.defaults().caCert(missing), FAR, "ca_cert", problem);
        assertRefused(ClientOptions.defaults().clientCert(missing, file), FAR, "client_cert", problem);
        assertRefused(ClientOptions.defaults().clientCert(file, missing), FAR, "client_key", problem);
        assertRefused(ClientOptions.defaults().tokenFile(missing), FAR, "token_file", problem);
    }

    @Test
    void certificatesNeedTls() throws Exception {
        Path file = file("anything");
        String here = "http://127.0.0.1:1";
        assertRefused(ClientOptions.defaults().caCert(file), here, "ca_cert", "no endpoint is https://");
        assertRefused(ClientOptions.defaults().clientCert(file, file), here, "client_cert", "no endpoint is https://");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"http://far:1", "far:1", "http://10.0.0.1:1", "http://[2001:db8::1]:1", "http://localhost.far:1"
            })
    void tokenIsNotSentInTheClear(String endpoint) throws Exception {
        assertRefused(ClientOptions.defaults().token("secret"), endpoint, "token", "in the clear: use https://");
        assertRefused(
                ClientOptions.defaults().tokenFile(file("secret")),
                endpoint,
                "token_file",
                "in the clear: use https://");
    }

    @ParameterizedTest
    @ValueSource(strings = {"http://localhost:1", "http://127.0.0.2:1", "http://[::1]:1", FAR})
    void tokenIsSentWithinThisMachineOrEncrypted(String endpoint) {
        ClientOptions options = ClientOptions.defaults().endpoints(endpoint).token("secret");
        assertThatCode(() -> TenureClient.connect(options).close()).doesNotThrowAnyException();
    }

    @Test
    void optionsDoNotPrintTheToken() {
        ClientOptions options = ClientOptions.defaults().token("secret");
        assertThat(options.toString()).doesNotContain("secret");
    }

    @Test
    void environmentHasAllOptions() {
        Map<String, String> environment = Map.of(
                "TENURE_ENDPOINTS", FAR,
                "TENURE_NAMESPACE", "jobs",
                "TENURE_CA_CERT", "ca.pem",
                "TENURE_CLIENT_CERT", "me.pem",
                "TENURE_CLIENT_KEY", "me.key",
                "TENURE_TLS_SERVER_NAME", "office",
                "TENURE_TOKEN", "secret",
                "TENURE_TOKEN_FILE", "token");
        assertThat(ClientOptions.from(environment))
                .usingRecursiveComparison()
                .isEqualTo(ClientOptions.defaults()
                        .endpoints(List.of(FAR))
                        .namespace("jobs")
                        .caCert(Path.of("ca.pem"))
                        .clientCert(Path.of("me.pem"), Path.of("me.key"))
                        .tlsServerName("office")
                        .token("secret")
                        .tokenFile(Path.of("token")));
        Map<String, String> empty =
                Map.of("TENURE_CA_CERT", "", "TENURE_TLS_SERVER_NAME", "", "TENURE_TOKEN", "", "TENURE_TOKEN_FILE", "");
        assertThat(ClientOptions.from(empty)).usingRecursiveComparison().isEqualTo(ClientOptions.defaults());
    }
}
