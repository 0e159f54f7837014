package io.tenure.client.internal.link;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.tenure.client.v1.ClientServiceGrpc;
import io.tenure.client.v1.Command;
import io.tenure.client.v1.StreamRequest;
import io.tenure.client.v1.StreamResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A connection to one server, with its one stream. */
final class Wire {
    /** The largest answer that is taken: a page of 1000 locks with 100 waiters each. */
    private static final int LARGEST_ANSWER = 64 << 20;
    /** The least that the transport allows. The engine probes oftener. */
    private static final Duration PROBE_INTERVAL = Duration.ofSeconds(10);

    private static final Duration PROBE_TIMEOUT = Duration.ofSeconds(3);
    /** How many messages may come before the first one was taken in. */
    private static final int MESSAGES_AHEAD = 16;

    /** What happens on a wire. Called on a thread of the transport, and not to be kept waiting. */
    interface Listener {
        /** The server has answered that the stream is open. */
        void opened(Wire wire);

        /** It said something. To be followed by {@link Wire#taken}. */
        void received(Wire wire, StreamResponse response);

        /** There is room for messages again. */
        void ready(Wire wire);

        /** The stream is over, or never came about. */
        void closed(Wire wire, String problem);
    }

    private final Endpoint endpoint;
    private final ManagedChannel channel;
    private final ClientCall<StreamRequest, StreamResponse> stream;

    private Wire(Endpoint endpoint, ManagedChannel channel) {
        this.endpoint = endpoint;
        this.channel = channel;
        this.stream = channel.newCall(ClientServiceGrpc.getStreamMethod(), CallOptions.DEFAULT);
    }

    /** Begins to connect. */
    static Wire connect(Endpoint endpoint, Duration timeout, Listener listener) {
        ManagedChannel channel = NettyChannelBuilder.forAddress(endpoint.host(), endpoint.port())
                .usePlaintext()
                .directExecutor()
                .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) Math.max(timeout.toMillis(), 1))
                .keepAliveTime(PROBE_INTERVAL.toMillis(), TimeUnit.MILLISECONDS)
                .keepAliveTimeout(PROBE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
                .keepAliveWithoutCalls(true)
                .maxInboundMessageSize(LARGEST_ANSWER)
                .disableRetry()
                .build();
        Wire wire = new Wire(endpoint, channel);
        wire.stream.start(wire.listenerFor(listener), new Metadata());
        wire.stream.request(MESSAGES_AHEAD);
        return wire;
    }

    private ClientCall.Listener<StreamResponse> listenerFor(Listener listener) {
        return new ClientCall.Listener<>() {
            @Override
            public void onHeaders(Metadata headers) {
                // A server that is frozen still accepts connections; only its answer tells that it lives.
                listener.opened(Wire.this);
            }

            @Override
            public void onMessage(StreamResponse response) {
                listener.received(Wire.this, response);
            }

            @Override
            public void onReady() {
                listener.ready(Wire.this);
            }

            @Override
            public void onClose(Status status, Metadata trailers) {
                listener.closed(Wire.this, problem(status));
            }
        };
    }

    private String problem(Status status) {
        if (status.isOk()) {
            return "the server ended the stream";
        }
        String text = status.getDescription() == null ? status.getCode().toString() : status.getDescription();
        Throwable cause = status.getCause();
        return endpoint + ": " + text + (cause == null ? "" : ": " + cause.getMessage());
    }

    Endpoint endpoint() {
        return endpoint;
    }

    ManagedChannel channel() {
        return channel;
    }

    /** Whether a message would go out at once. */
    boolean isReady() {
        return stream.isReady();
    }

    void send(List<Command> commands) {
        stream.sendMessage(StreamRequest.newBuilder().addAllCommands(commands).build());
    }

    /** A message was taken in: another may come. */
    void taken() {
        stream.request(1);
    }

    /** Ends the stream, and the connection once no call needs it any more. */
    void drop() {
        stream.cancel("not needed any more", null);
        channel.shutdown();
    }
}
