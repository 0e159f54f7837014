package io.tenure.client.transport;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors.CheckedForwardingClientCall;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.TlsChannelCredentials;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Makes connections: over TCP, with TLS and a token as the options say. */
public final class Connector implements ClientInterceptor {
    /** The largest accepted answer: a page of 1000 locks with 100 waiters each. */
    private static final int LARGEST_ANSWER = 64 << 20;
    /** The interval of probes of a connection: the least that the transport allows. */
    private static final Duration PROBE_INTERVAL = Duration.ofSeconds(10);

    private static final Duration PROBE_TIMEOUT = Duration.ofSeconds(3);
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    private final Security security;

    Connector(Security security) {
        this.security = security;
    }

    /**
     * A channel to a server, which connects when it is used.
     *
     * @throws IOException if a file of the options cannot be read or used
     */
    ManagedChannel channel(Endpoint endpoint, Duration timeout) throws IOException {
        try {
            ChannelCredentials credentials = endpoint.isSecure() ? tls() : InsecureChannelCredentials.create();
            NettyChannelBuilder builder = NettyChannelBuilder.forAddress(endpoint.host(), endpoint.port(), credentials)
                    .directExecutor()
                    .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) Math.max(timeout.toMillis(), 1))
                    .keepAliveTime(PROBE_INTERVAL.toMillis(), TimeUnit.MILLISECONDS)
                    .keepAliveTimeout(PROBE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
                    .keepAliveWithoutCalls(true)
                    .maxInboundMessageSize(LARGEST_ANSWER)
                    .disableRetry();
            if (endpoint.isSecure() && security.tlsServerName() != null) {
                builder.overrideAuthority(security.tlsServerName());
            }
            if (security.hasToken()) {
                builder.intercept(this);
            }
            return builder.build();
        } catch (IllegalArgumentException error) {
            throw new IOException(error.getMessage(), error);
        }
    }

    private ChannelCredentials tls() throws IOException {
        TlsChannelCredentials.Builder tls = TlsChannelCredentials.newBuilder();
        if (security.caCert() != null) {
            tls.trustManager(security.caCert().toFile());
        }
        if (security.clientCert() != null && security.clientKey() != null) {
            tls.keyManager(security.clientCert().toFile(), security.clientKey().toFile());
        }
        return tls.build();
    }

    /** Adds the token to a call. */
    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions callOptions, Channel next) {
        return new CheckedForwardingClientCall<>(next.newCall(method, callOptions)) {
            @Override
            protected void checkedStart(Listener<A> listener, Metadata headers) throws StatusException {
                try {
                    headers.put(AUTHORIZATION, security.authorization());
                } catch (IOException error) {
                    // Unavailable, so that it is tried again: the file may be about to be replaced.
                    throw Status.UNAVAILABLE.withDescription(error.getMessage()).asException();
                }
                delegate().start(listener, headers);
            }
        };
    }
}
