package io.tenure.client;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * How to reach the service.
 *
 * @param endpoints the servers, as URLs ({@code http://} may be left out; {@code https://} is for TLS); equals, of which one is used
 *     at a time. Default: {@code http://127.0.0.1:7420}
 * @param namespace the namespace of all that the client does. Default: {@code default}
 * @param connectTimeout how long connecting to one server may take; more than 0. Default: 500 ms
 * @param callTimeout how long a call may take, retries at other servers included; a call that waits for a lock may take this longer
 *     than its wait. More than 0. Default: 5 s
 * @param security how connections are secured, and how this client proves who it is. Default: {@link Security#none}
 */
public record ClientOptions(
        List<String> endpoints, String namespace, Duration connectTimeout, Duration callTimeout, Security security) {
    public ClientOptions {
        endpoints = List.copyOf(endpoints);
    }

    /** One server on this machine's port 7420, namespace {@code default}. */
    public static ClientOptions defaults() {
        return new ClientOptions(
                List.of("http://127.0.0.1:7420"),
                "default",
                Duration.ofMillis(500),
                Duration.ofSeconds(5),
                Security.none());
    }

    /**
     * From {@code TENURE_ENDPOINTS} (separated by commas), {@code TENURE_NAMESPACE}, {@code TENURE_CA_CERT},
     * {@code TENURE_CLIENT_CERT}, {@code TENURE_CLIENT_KEY}, {@code TENURE_TLS_SERVER_NAME}, {@code TENURE_TOKEN} and
     * {@code TENURE_TOKEN_FILE}, where they are set and not empty.
     */
    public static ClientOptions fromEnvironment() {
        return from(System.getenv());
    }

    static ClientOptions from(Map<String, String> environment) {
        ClientOptions options = defaults().security(Security.from(environment));
        String endpoints = environment.getOrDefault("TENURE_ENDPOINTS", "");
        if (!endpoints.isBlank()) {
            options = options.endpoints(split(endpoints));
        }
        String namespace = environment.getOrDefault("TENURE_NAMESPACE", "");
        return namespace.isEmpty() ? options : options.namespace(namespace);
    }

    static List<String> split(String endpoints) {
        return Arrays.stream(endpoints.split(","))
                .map(String::strip)
                .filter(endpoint -> !endpoint.isEmpty())
                .toList();
    }

    /** With these endpoints. */
    public ClientOptions endpoints(String... those) {
        return endpoints(List.of(those));
    }

    /** With these endpoints. */
    public ClientOptions endpoints(List<String> those) {
        return new ClientOptions(those, namespace, connectTimeout, callTimeout, security);
    }

    /** In this namespace. */
    public ClientOptions namespace(String name) {
        return new ClientOptions(endpoints, name, connectTimeout, callTimeout, security);
    }

    /** With this time-out for connecting to one server. */
    public ClientOptions connectTimeout(Duration timeout) {
        return new ClientOptions(endpoints, namespace, timeout, callTimeout, security);
    }

    /** With this time-out for a call with all its retries. */
    public ClientOptions callTimeout(Duration timeout) {
        return new ClientOptions(endpoints, namespace, connectTimeout, timeout, security);
    }

    /** Secured like this, in place of what was said before. */
    public ClientOptions security(Security those) {
        return new ClientOptions(endpoints, namespace, connectTimeout, callTimeout, those);
    }

    /** With servers at {@code https://} whose certificates are signed by these: see {@link Security#caCert}. */
    public ClientOptions caCert(Path file) {
        return security(security.caCert(file));
    }

    /** With this certificate, and the private key of it: see {@link Security#clientCert} and {@link Security#clientKey}. */
    public ClientOptions clientCert(Path cert, Path key) {
        return security(security.clientCert(cert).clientKey(key));
    }

    /** With servers whose certificates have this name: see {@link Security#tlsServerName}. */
    public ClientOptions tlsServerName(String name) {
        return security(security.tlsServerName(name));
    }

    /** With this token: see {@link Security#token}. */
    public ClientOptions token(String text) {
        return security(security.token(text));
    }

    /** With the token that stands in this file: see {@link Security#tokenFile}. */
    public ClientOptions tokenFile(Path file) {
        return security(security.tokenFile(file));
    }

    ClientOptions checked() {
        if (endpoints.isEmpty()) {
            throw new TenureException.Invalid("endpoints", "there are none");
        }
        requirePositive("connect_timeout", connectTimeout);
        requirePositive("call_timeout", callTimeout);
        return this;
    }

    private static void requirePositive(String field, Duration timeout) {
        if (timeout.isZero() || timeout.isNegative()) {
            throw new TenureException.Invalid(field, "it is not more than zero");
        }
    }
}
