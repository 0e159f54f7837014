package io.tenure.client.internal.link;

import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.TlsChannelCredentials;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.tenure.client.Security;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Makes connections: over TCP, and TLS where the server's URL says so. */
final class Connector {
    /** The largest answer that is taken: a page of 1000 locks with 100 waiters each. */
    private static final int LARGEST_ANSWER = 64 << 20;
    /** The least that the transport allows. The engine probes oftener. */
    private static final Duration PROBE_INTERVAL = Duration.ofSeconds(10);

    private static final Duration PROBE_TIMEOUT = Duration.ofSeconds(3);

    private final Security security;
    private final @Nullable BearerToken token;

    Connector(Security security) {
        this.security = security;
        this.token = BearerToken.of(security);
    }

    /**
     * A channel to a server, which connects when it is used.
     *
     * @throws IOException if what secures it cannot be read or used
     */
    ManagedChannel channel(Endpoint endpoint, Duration timeout) throws IOException {
        try {
            return builder(endpoint)
                    .directExecutor()
                    .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) Math.max(timeout.toMillis(), 1))
                    .keepAliveTime(PROBE_INTERVAL.toMillis(), TimeUnit.MILLISECONDS)
                    .keepAliveTimeout(PROBE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
                    .keepAliveWithoutCalls(true)
                    .maxInboundMessageSize(LARGEST_ANSWER)
                    .disableRetry()
                    .build();
        } catch (IllegalArgumentException error) {
            throw new IOException(error.getMessage(), error);
        }
    }

    private NettyChannelBuilder builder(Endpoint endpoint) throws IOException {
        ChannelCredentials credentials = endpoint.isSecure() ? tls() : InsecureChannelCredentials.create();
        NettyChannelBuilder builder = NettyChannelBuilder.forAddress(endpoint.host(), endpoint.port(), credentials);
        if (endpoint.isSecure() && security.tlsServerName() != null) {
            builder.overrideAuthority(security.tlsServerName());
        }
        if (token != null) {
            builder.intercept(token);
        }
        return builder;
    }

    private ChannelCredentials tls() throws IOException {
        TlsChannelCredentials.Builder tls = TlsChannelCredentials.newBuilder();
        Path authority = security.caCert();
        if (authority != null) {
            tls.trustManager(authority.toFile());
        }
        Path certificate = security.clientCert();
        Path key = security.clientKey();
        if (certificate != null && key != null) {
            tls.keyManager(certificate.toFile(), key.toFile());
        }
        return tls.build();
    }
}
