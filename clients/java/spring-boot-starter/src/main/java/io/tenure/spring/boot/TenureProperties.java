package io.tenure.spring.boot;

import io.tenure.client.ClientOptions;
import io.tenure.client.SessionOptions;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How to reach the service, and how what is annotated takes part. What is absent or empty is the client's default. As Spring Boot
 * has it, the environment variables {@code TENURE_ENDPOINTS} and {@code TENURE_NAMESPACE} are read too.
 *
 * @param endpoints the servers, as URLs; equals, of which one is used at a time. Default: {@code http://127.0.0.1:7420}
 * @param namespace the namespace of all that is done: 1 to 63 of a-z, 0-9, {@code -}. Default: {@code default}
 * @param connectTimeout how long connecting to one server may take; more than 0. Default: 500 ms
 * @param callTimeout how long a call may take, retries at other servers included; a call that waits for a lock may take this longer
 *     than its wait. More than 0. Default: 5 s
 * @param session the sessions of methods with {@link DistributedLock} and {@link LeaderOnly}
 */
@ConfigurationProperties("tenure")
public record TenureProperties(
        @Nullable List<String> endpoints,
        @Nullable String namespace,
        @Nullable Duration connectTimeout,
        @Nullable Duration callTimeout,
        @DefaultValue Session session) {
    /**
     * Sessions.
     *
     * @param ttl how long a lock or a leadership outlives this program if that dies: 500 ms to 24 h. Default: 10 s
     * @param disconnectGrace how long it outlives this program's connection: 100 ms to the TTL. Default: none, the TTL alone counts
     * @param owner who this is, for people: at most 255 bytes. Default: empty
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
        return callTimeout == null ? options : options.callTimeout(callTimeout);
    }
}
