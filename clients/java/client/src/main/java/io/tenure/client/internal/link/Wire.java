package io.tenure.client.internal.link;

import com.google.common.base.Throwables;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.tenure.client.Refusal;
import io.tenure.client.internal.engine.Trouble;
import io.tenure.client.v1.ClientServiceGrpc;
import io.tenure.client.v1.Command;
import io.tenure.client.v1.StreamRequest;
import io.tenure.client.v1.StreamResponse;
import java.util.List;

/** A connection to one server, with its one stream. */
final class Wire {
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
        void closed(Wire wire, Trouble why);
    }

    private final Endpoint endpoint;
    private final ManagedChannel channel;
    private final ClientCall<StreamRequest, StreamResponse> stream;

    private Wire(Endpoint endpoint, ManagedChannel channel) {
        this.endpoint = endpoint;
        this.channel = channel;
        this.stream = channel.newCall(ClientServiceGrpc.getStreamMethod(), CallOptions.DEFAULT);
    }

    /** Begins to connect, and to open the stream. */
    static Wire open(Endpoint endpoint, ManagedChannel channel, Listener listener) {
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
                listener.closed(Wire.this, trouble(status, trailers));
            }
        };
    }

    private Trouble trouble(Status status, Metadata trailers) {
        if (status.isOk()) {
            return Trouble.unreachable("the server ended the stream");
        }
        Refusal refusal = Refusals.refusal(status, trailers);
        if (refusal != null && refusal.reason() == Refusal.Reason.UNAUTHENTICATED) {
            return Trouble.unauthenticated(refusal);
        }
        return Trouble.unreachable(endpoint + ": " + problem(status));
    }

    private static String problem(Status status) {
        Throwable cause = status.getCause();
        if (cause == null) {
            return status.getDescription() == null ? status.getCode().toString() : status.getDescription();
        }
        // The innermost says what is wrong, such as with a certificate; those around it, by what.
        Throwable root = Throwables.getRootCause(cause);
        return root.getMessage() == null ? root.toString() : root.getMessage();
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
