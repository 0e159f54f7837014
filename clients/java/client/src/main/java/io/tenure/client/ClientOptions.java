package io.tenure.client;

import io.tenure.client.transport.Connection;
import io.tenure.client.transport.Driver;
import io.tenure.client.transport.Endpoint;
import io.tenure.client.transport.Security;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How to reach the service. Immutable: each option returns new options.
 *
 * <p>Files are PEM. They are read for each connection, the token's for each stream and call, so that they may be replaced. What cannot
 * be used is rejected when the client is made.
 */
public final class ClientOptions implements Cloneable {
    private static final String NAMESPACE = "[a-z0-9-]{0,63}";

    private List<String> endpoints = List.of("http://127.0.0.1:7420");
    private String namespace = "default";
    private Duration connectTimeout = Duration.ofMillis(500);
    private Duration callTimeout = Duration.ofSeconds(5);
    private @Nullable Path caCert;
    private @Nullable Path clientCert;
    private @Nullable Path clientKey;
    private @Nullable String tlsServerName;
    private @Nullable String token;
    private @Nullable Path tokenFile;

    private ClientOptions() {}

    /** One server on this machine's port 7420, namespace {@code default}. */
    public static ClientOptions defaults() {
        return new ClientOptions();
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
        Map<String, String> set = new HashMap<>(environment);
        set.values().removeIf(String::isBlank);
        ClientOptions options = new ClientOptions();
        options.endpoints =
                set.containsKey("TENURE_ENDPOINTS") ? split(set.get("TENURE_ENDPOINTS")) : options.endpoints;
        options.namespace = set.getOrDefault("TENURE_NAMESPACE", options.namespace);
        options.caCert = file(set.get("TENURE_CA_CERT"));
        options.clientCert = file(set.get("TENURE_CLIENT_CERT"));
        options.clientKey = file(set.get("TENURE_CLIENT_KEY"));
        options.tlsServerName = set.get("TENURE_TLS_SERVER_NAME");
        options.token = set.get("TENURE_TOKEN");
        options.tokenFile = file(set.get("TENURE_TOKEN_FILE"));
        return options;
    }

    private static @Nullable Path file(@Nullable String path) {
        return path == null ? null : Path.of(path);
    }

    static List<String> split(String endpoints) {
        return Arrays.stream(endpoints.split(","))
                .map(String::strip)
                .filter(endpoint -> !endpoint.isEmpty())
                .toList();
    }

    private ClientOptions with(Consumer<ClientOptions> change) {
        try {
            ClientOptions changed = (ClientOptions) clone();
            change.accept(changed);
            return changed;
        } catch (CloneNotSupportedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    /**
     * The servers, as URLs: {@code http://} may be omitted, {@code https://} is for TLS; without a port it is 7420. They are equals: the
     * client uses one at a time and fails over to the next. At least one. Default: {@code http://127.0.0.1:7420}.
     */
    public ClientOptions endpoints(List<String> urls) {
        return with(options -> options.endpoints = List.copyOf(urls));
    }

    /** As {@link #endpoints(List)}. */
    public ClientOptions endpoints(String... urls) {
        return endpoints(List.of(urls));
    }

    /** The namespace of the client: 1 to 63 of a-z, 0-9 and {@code -}. Default: {@code default}. */
    public ClientOptions namespace(String name) {
        return with(options -> options.namespace = name);
    }

    /**
     * How long connecting to one server may take. After a quarter of this, the next server is tried in parallel. More than 0; default:
     * 500 ms.
     */
    public ClientOptions connectTimeout(Duration timeout) {
        return with(options -> options.connectTimeout = timeout);
    }

    /**
     * How long a call may take, including retries at other servers. A call that waits for a lock may take this longer than its wait.
     * More than 0; default: 5 s.
     */
    public ClientOptions callTimeout(Duration timeout) {
        return with(options -> options.callTimeout = timeout);
    }

    /** The file of the CA of the servers' certificates; needs an endpoint at {@code https://}. Default: those of this Java. */
    public ClientOptions caCert(@Nullable Path file) {
        return with(options -> options.caCert = file);
    }

    /**
     * The files of this client's certificate and of its private key, which is PKCS #8 ({@code BEGIN PRIVATE KEY}) and not encrypted;
     * needs an endpoint at {@code https://}. Default: none.
     */
    public ClientOptions clientCert(@Nullable Path cert, @Nullable Path key) {
        return with(options -> {
            options.clientCert = cert;
            options.clientKey = key;
        });
    }

    /** The name that the servers' certificates must have. Default: the endpoint's host. */
    public ClientOptions tlsServerName(@Nullable String name) {
        return with(options -> options.tlsServerName = name);
    }

    /**
     * The token of this client: printable ASCII, not empty. Never sent to an endpoint at {@code http://}, except on this machine. Not
     * printed. Default: none.
     */
    public ClientOptions token(@Nullable String text) {
        return with(options -> options.token = text);
    }

    /** The file of that token, in place of {@link #token(String)}. Default: none. */
    public ClientOptions tokenFile(@Nullable Path file) {
        return with(options -> options.tokenFile = file);
    }

    /** Connects, after checking what no call would report well. */
    Connection connect() {
        if (!namespace.matches(NAMESPACE)) {
            throw new TenureException.Invalid("namespace", "it is not 1 to 63 of a-z, 0-9 and '-'");
        }
        requirePositive("connect_timeout", connectTimeout);
        requirePositive("call_timeout", callTimeout);
        if (endpoints.isEmpty()) {
            throw new TenureException.Invalid("endpoints", "there are none");
        }
        List<Endpoint> servers = endpoints.stream().map(Endpoint::parse).toList();
        Security security = new Security(caCert, clientCert, clientKey, tlsServerName, token, tokenFile);
        security.check(servers);
        return Driver.start(servers, security, namespace, connectTimeout, callTimeout);
    }

    private static void requirePositive(String field, Duration timeout) {
        if (timeout.isZero() || timeout.isNegative()) {
            throw new TenureException.Invalid(field, "it is not more than zero");
        }
    }
}
