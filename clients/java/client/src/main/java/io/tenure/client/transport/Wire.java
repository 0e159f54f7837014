package io.tenure.client.transport;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.tenure.client.v1.ClientServiceGrpc;
import io.tenure.client.v1.ConnectRequest;
import io.tenure.client.v1.ConnectResponse;

/** A connection to one server, with its one stream. Passes on what happens to the driver. */
public final class Wire extends ClientCall.Listener<ConnectResponse> {
    /** How many messages may be received before the first one was processed. */
    private static final int MESSAGES_AHEAD = 16;

    private final Endpoint endpoint;
    private final ManagedChannel channel;
    private final Driver driver;
    private final Context.CancellableContext context = Context.ROOT.withCancellation();
    private final ClientCall<ConnectRequest, ConnectResponse> stream;

    Wire(Endpoint endpoint, ManagedChannel channel, Driver driver) {
        this.endpoint = endpoint;
        this.channel = channel;
        this.driver = driver;
        this.stream = channel.newCall(ClientServiceGrpc.getConnectMethod(), CallOptions.DEFAULT);
    }

    /** Begins to connect, and to open the stream. */
    void open() {
        stream.start(this, new Metadata());
        stream.request(MESSAGES_AHEAD);
    }

    @Override
    public void onHeaders(Metadata headers) {
        // A frozen server still accepts connections; only its answer proves that it runs.
        driver.opened(this);
    }

    @Override
    public void onMessage(ConnectResponse response) {
        driver.received(this, response);
    }

    @Override
    public void onReady() {
        driver.ready();
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
        driver.closed(this, Failures.of(status, trailers));
    }

    Endpoint endpoint() {
        return endpoint;
    }

    /** The channel for plain calls. */
    public Channel channel() {
        return channel;
    }

    /** The context of calls that end when the client leaves the server, because a silent server would not end them. */
    public Context.CancellableContext context() {
        return context;
    }

    boolean isReady() {
        return stream.isReady();
    }

    void send(ConnectRequest request) {
        stream.sendMessage(request);
    }

    void processed() {
        stream.request(1);
    }

    /** Ends the stream, and the connection once no call needs it. */
    void drop() {
        context.cancel(null);
        stream.cancel("left", null);
        channel.shutdown();
    }
}
