package io.tenure.client.transport;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerServiceDefinition;
import io.tenure.client.testing.Eventually;
import io.tenure.client.v1.ClientServiceGrpc;
import io.tenure.client.v1.ConnectRequest;
import io.tenure.client.v1.ConnectResponse;
import io.tenure.client.v1.GoingAway;
import io.tenure.client.v1.Welcome;
import java.time.Duration;
import java.util.List;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class DriverTest {
    private static final ConnectResponse WELCOME = ConnectResponse.newBuilder()
            .setWelcome(Welcome.getDefaultInstance())
            .build();
    private static final ConnectResponse GOING_AWAY = ConnectResponse.newBuilder()
            .setGoingAway(GoingAway.getDefaultInstance())
            .build();

    /** The streams that have a Hello, by epoch. */
    private final NavigableMap<Long, ServerCall<ConnectRequest, ConnectResponse>> streams =
            new ConcurrentSkipListMap<>();
    /** The epochs of those that the client has ended. */
    private final List<Long> ended = new CopyOnWriteArrayList<>();

    private ServerCall.Listener<ConnectRequest> accept(
            ServerCall<ConnectRequest, ConnectResponse> call, Metadata headers) {
        call.sendHeaders(new Metadata());
        call.request(1_000);
        return new ServerCall.Listener<>() {
            private long epoch;

            @Override
            public void onMessage(ConnectRequest request) {
                if (request.hasHello()) {
                    epoch = request.getHello().getEpoch();
                    streams.put(epoch, call);
                }
            }

            @Override
            public void onCancel() {
                ended.add(epoch);
            }
        };
    }

    private void opened(long epoch) throws InterruptedException {
        Eventually.holds("stream " + epoch, () -> streams.containsKey(epoch));
    }

    @Test
    void lastWelcomedStreamIsKeptUntilTheNextOneIsWelcomed() throws Exception {
        Server server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                .addService(ServerServiceDefinition.builder(ClientServiceGrpc.SERVICE_NAME)
                        .addMethod(ClientServiceGrpc.getConnectMethod(), this::accept)
                        .build())
                .build()
                .start();
        Endpoint endpoint = new Endpoint(false, "127.0.0.1", server.getPort());
        Duration timeout = Duration.ofSeconds(5);
        Security security = new Security(null, null, null, null, null, null);
        Connection connection = Driver.start(List.of(endpoint), security, "default", timeout, timeout);
        try {
            opened(1);
            streams.get(1L).sendMessage(WELCOME);
            streams.get(1L).sendMessage(GOING_AWAY);
            opened(2);
            // Left because it is not welcomed.
            opened(3);
            Eventually.holds("a stream is ended", () -> !ended.isEmpty());
            assertThat(ended).startsWith(2L).doesNotContain(1L);
            Eventually.holds("the first stream is ended", () -> {
                streams.lastEntry().getValue().sendMessage(WELCOME);
                return ended.contains(1L);
            });
        } finally {
            connection.shutDown();
            server.shutdownNow();
        }
    }
}
