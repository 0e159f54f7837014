package io.tenure.spring.boot;

import io.tenure.client.ClientOptions;
import io.tenure.client.SessionOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How to reach the service, and how what is annotated takes part. What is absent or empty is the client's default. As Spring Boot
 * has it, the environment variables {@code TENURE_ENDPOINTS}, {@code TENURE_NAMESPACE}, {@code TENURE_CA_CERT} and so on are read
 * too.
 *
 * @param endpoints the servers, as URLs, {@code https://} for TLS; equals, of which one is used at a time. Default:
 *     {@code http://127.0.0.1:7420}
 * @param namespace the namespace of all that is done: 1 to 63 of a-z, 0-9, {@code -}. Default: {@code default}
 * @param connectTimeout how long connecting to one server may take; more than 0. Default: 500 ms
 * @param callTimeout how long a call may take, retries at other servers included; a call that waits for a lock may take this longer
 *     than its wait. More than 0. Default: 5 s
 * @param caCert the PEM file of those who sign the servers' certificates; needs an endpoint at {@code https://}. This and the other
 *     files are read again for each connection. Default: those whom this Java trusts
 * @param clientCert the PEM file of this program's certificate; needs {@code client-key} and an endpoint at {@code https://}.
 *     Default: none
 * @param clientKey the PEM file of its private key: PKCS #8, not encrypted. Default: none
 * @param tlsServerName the name that the servers' certificates must have. Default: the endpoint's host
 * @param token the token that says who this is; never sent to an endpoint at {@code http://}, except on this machine. Default: none
 * @param tokenFile the file of that token, in place of {@code token}; read again for each stream and call. Default: none
 * @param session the sessions of methods with {@link DistributedLock} and {@link LeaderOnly}
 */
@ConfigurationProperties("tenure")
public record TenureProperties(
        @Nullable List<String> endpoints,
        @Nullable String namespace,
        @Nullable Duration connectTimeout,
        @Nullable Duration callTimeout,
        @Nullable String caCert,
        @Nullable String clientCert,
        @Nullable String clientKey,
        @Nullable String tlsServerName,
        @Nullable String token,
        @Nullable String tokenFile,
        @DefaultValue Session session) {
    /**
     * Sessions.
     *
     * @param ttl how long a lock or a leadership outlives this program if that dies: 500 ms to 24 h. Default: 10 s
     * @param disconnectGrace how long it outlives this program's connection: 100 ms to the TTL. Default: none, the TTL alone counts
     * @param owner the owner label, for people: at most 255 bytes. Default: {@code PROGRAM@HOST}
     */
    public record Session(@Nullable Duration ttl, @Nullable Duration disconnectGrace, @Nullable String owner) {
        SessionOptions options() {
            SessionOptions options = SessionOptions.defaults();
            options = ttl == null ? options : options.ttl(ttl);
            options = disconnectGrace == null ? options : options.disconnectGrace(disconnectGrace);
            return owner == null ? options : options.owner(owner);
        }
    }

    ClientOptions clientOptions() {
        ClientOptions options = ClientOptions.defaults();
        options = endpoints == null || endpoints.isEmpty() ? options : options.endpoints(endpoints);
        options = namespace == null || namespace.isEmpty() ? options : options.namespace(namespace);
        options = connectTimeout == null ? options : options.connectTimeout(connectTimeout);
        options = callTimeout == null ? options : options.callTimeout(callTimeout);
        return options.caCert(file(caCert))
                .clientCert(file(clientCert), file(clientKey))
                .tlsServerName(text(tlsServerName))
                .token(text(token))
                .tokenFile(file(tokenFile));
    }

    private static @Nullable String text(@Nullable String property) {
        return property == null || property.isEmpty() ? null : property;
    }

    private static @Nullable Path file(@Nullable String property) {
        return property == null || property.isEmpty() ? null : Path.of(property);
    }

    /** Without the token. */
    @Override
    public String toString() {
        return "TenureProperties[endpoints=" + endpoints + ", namespace=" + namespace + ", session=" + session + "]";
    }
}
