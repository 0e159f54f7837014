package io.tenure.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.tenure.client.testing.Eventually;
import io.tenure.client.testing.TestServer;
import io.tenure.client.v1.Event;
import io.tenure.client.v1.EventType;
import io.tenure.client.v1.WatchRequest;
import io.tenure.client.v1.WatchResponse;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Against a real server that goes away, and programs that die or freeze. */
@Timeout(60)
class RecoveryTest {
    private TestServer server;
    private TenureClient client;
    private TenureClient other;

    @BeforeEach
    void start() throws Exception {
        server = TestServer.start();
        client = TenureClient.connect(server.url());
        other = TenureClient.connect(server.url());
    }

    @AfterEach
    void stop() throws Exception {
        client.close();
        other.close();
        server.close();
    }

    @Test
    void holdsTokensAndPlacesInTheQueueOutliveTheServer() throws Exception {
        Guard guard = client.lock("job").ttl(Duration.ofSeconds(10)).acquire();
        CompletableFuture<Guard> waiting =
                other.lock("job").ttl(Duration.ofSeconds(10)).acquireAsync();
        Eventually.holds("one waits", () -> client.getLock("job").getWaiterCount() == 1);
        server.kill();
        server.restart();
        Eventually.holds("the hold is there", () -> client.getLock("job").getHoldersList().stream()
                .anyMatch(claim -> claim.getToken() == guard.token()));
        assertThat(guard.isValid()).isTrue();
        guard.release();
        assertThat(waiting.get(10, TimeUnit.SECONDS).token()).isGreaterThan(guard.token());
    }

    @Test
    void watchIsResumedAfterARestart() throws Exception {
        try (Watch<WatchResponse> watch =
                client.watch(WatchRequest.newBuilder().addNames("job").build())) {
            assertThat(watch.next().hasSnapshot()).isTrue();
            Guard guard = other.lock("job").ttl(Duration.ofSeconds(10)).acquire();
            long last = nextEvents(watch).getRevision();
            server.kill();
            server.restart();
            guard.release();
            WatchResponse ended = nextEvents(watch);
            assertThat(ended.getRevision()).isGreaterThan(last);
            assertThat(ended.getEvents().getEventsList())
                    .singleElement()
                    .matches(event -> event.getType() == EventType.EVENT_TYPE_ENDED);
        }
    }

    private static WatchResponse nextEvents(Watch<WatchResponse> watch) throws InterruptedException {
        WatchResponse response = watch.next();
        while (!response.hasEvents()) {
            assertThat(response.hasProgress()).isTrue();
            response = watch.next();
        }
        return response;
    }

    @Test
    void readerThatIsBehindLosesNothing() throws Exception {
        try (Watch<WatchResponse> watch = client.watch(WatchRequest.getDefaultInstance());
                Session session = other.session(SessionOptions.defaults())) {
            assertThat(watch.next().hasSnapshot()).isTrue();
            for (int round = 0; round < 120; round++) {
                session.lock("job").acquire().release();
            }
            long seen = 0;
            long revision = 0;
            while (seen < 240) {
                for (Event event : watch.next().getEvents().getEventsList()) {
                    assertThat(event.getRevision()).isGreaterThan(revision);
                    revision = event.getRevision();
                    seen++;
                }
            }
        }
    }

    @Test
    void withoutAServerTheSessionIsAtRiskAndThenLost() throws Exception {
        Session session = client.session(SessionOptions.defaults().ttl(Duration.ofSeconds(3)));
        Guard guard = session.lock("job").acquire();
        server.kill();
        Eventually.holds("it is at risk", () -> session.state() == SessionState.AT_RISK);
        assertThat(guard.isValid()).isTrue();
        assertThat(guard.lost().get(10, TimeUnit.SECONDS)).isEqualTo(LostReason.of(LostReason.Kind.UNRENEWED));
        assertThat(session.isValid()).isFalse();
        server.restart();
        Eventually.holds(
                "it was closed", () -> other.getLock("job").getHoldersList().isEmpty());
    }

    /** A program that holds a lock, and prints what becomes of it. */
    public static final class Holder {
        public static void main(String[] arguments) throws Exception {
            TenureClient client = TenureClient.connect(
                    ClientOptions.defaults().endpoints(arguments[0]).callTimeout(Duration.ofSeconds(30)));
            Guard guard = client.lock(arguments[1]).ttl(Duration.ofSeconds(2)).acquire();
            System.out.println("acquired " + guard.token());
            while (guard.isValid()) {
                Thread.sleep(1);
            }
            System.out.println("lost");
        }
    }

    private Process startHolder(String lock) throws Exception {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Holder.class.getName(),
                        server.url(),
                        lock)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    @Test
    void lockOfAKilledProgramGoesToTheWaiter() throws Exception {
        Process holder = startHolder("job");
        try (BufferedReader output = holder.inputReader(StandardCharsets.UTF_8)) {
            assertThat(output.readLine()).startsWith("acquired");
            CompletableFuture<Guard> waiting = client.lock("job").acquireAsync();
            Eventually.holds("one waits", () -> other.getLock("job").getWaiterCount() == 1);
            holder.destroyForcibly();
            assertThat(waiting.get(20, TimeUnit.SECONDS).isValid()).isTrue();
        }
    }

    @Test
    void programThatWasSuspendedForTooLongSeesTheLossOnResume() throws Exception {
        Process holder = startHolder("job");
        try (BufferedReader output =
                new BufferedReader(new InputStreamReader(holder.getInputStream(), StandardCharsets.UTF_8))) {
            assertThat(output.readLine()).startsWith("acquired");
            CompletableFuture<Guard> waiting = client.lock("job").acquireAsync();
            Eventually.holds("one waits", () -> other.getLock("job").getWaiterCount() == 1);
            TestServer.signal(holder, "STOP");
            assertThat(waiting.get(20, TimeUnit.SECONDS).isValid()).isTrue();
            TestServer.signal(holder, "CONT");
            assertThat(output.readLine()).isEqualTo("lost");
        } finally {
            holder.destroyForcibly();
        }
    }
}
