package io.tenure.client;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * How to reach the service.
 *
 * @param endpoints the servers, as URLs ({@code http://} may be left out); equals, of which one is used at a time. Default:
 *     {@code http://127.0.0.1:7420}
 * @param namespace the namespace of all that the client does. Default: {@code default}
 * @param connectTimeout how long connecting to one server may take; more than 0. Default: 500 ms
 * @param callTimeout how long a call may take, retries at other servers included; a call that waits for a lock may take this longer
 *     than its wait. More than 0. Default: 5 s
 */
public record ClientOptions(List<String> endpoints, String namespace, Duration connectTimeout, Duration callTimeout) {
    public ClientOptions {
        endpoints = List.copyOf(endpoints);
    }

    /** One server on this machine's port 7420, namespace {@code default}. */
    public static ClientOptions defaults() {
        return new ClientOptions(
                List.of("http://127.0.0.1:7420"), "default", Duration.ofMillis(500), Duration.ofSeconds(5));
    }

    /** From {@code TENURE_ENDPOINTS} (separated by commas) and {@code TENURE_NAMESPACE}, where they are set and not empty. */
    public static ClientOptions fromEnvironment() {
        return from(System.getenv());
    }

    static ClientOptions from(Map<String, String> environment) {
        ClientOptions options = defaults();
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
        return new ClientOptions(those, namespace, connectTimeout, callTimeout);
    }

    /** In this namespace. */
    public ClientOptions namespace(String name) {
        return new ClientOptions(endpoints, name, connectTimeout, callTimeout);
    }

    /** With this time-out for connecting to one server. */
    public ClientOptions connectTimeout(Duration timeout) {
        return new ClientOptions(endpoints, namespace, timeout, callTimeout);
    }

    /** With this time-out for a call with all its retries. */
    public ClientOptions callTimeout(Duration timeout) {
        return new ClientOptions(endpoints, namespace, connectTimeout, timeout);
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
