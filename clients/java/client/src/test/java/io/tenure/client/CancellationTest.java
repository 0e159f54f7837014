package io.tenure.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.tenure.client.testing.Eventually;
import io.tenure.client.testing.TestServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Requests that are cancelled or interrupted leave nothing behind, whatever reply is under way. */
@Timeout(120)
class CancellationTest {
    private static final int REQUESTS = 1_000;
    private static TestServer server;

    @BeforeAll
    static void startServer() throws Exception {
        server = TestServer.start();
    }

    @AfterAll
    static void stopServer() throws Exception {
        server.close();
    }

    /** Cancels some at once, and some when others have been requested. */
    private static void cancelMany(TenureClient client, String lock) throws Exception {
        Random random = new Random(1);
        List<CompletableFuture<Guard>> requests = new ArrayList<>();
        for (int number = 0; number < REQUESTS; number++) {
            requests.add(client.lock(lock).acquireAsync());
            requests.get(random.nextInt(number + 1)).cancel(false);
        }
        requests.forEach(request -> request.cancel(false));
        assertThat(requests).allMatch(CompletableFuture::isDone);
    }

    /** Interrupts threads that wait, are about to, or have just been granted the lock. */
    private static void interruptMany(TenureClient client, String lock) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < REQUESTS; number++) {
            Thread thread = new Thread(() -> {
                try (Guard guard = client.lock(lock).acquire()) {
                    assertThat(guard.token()).isPositive();
                } catch (InterruptedException expected) {
                    Thread.currentThread().interrupt();
                }
            });
            thread.start();
            threads.add(thread);
            threads.get(number / 2).interrupt();
        }
        threads.forEach(Thread::interrupt);
        for (Thread thread : threads) {
            thread.join();
        }
    }

    @Test
    void twoThousandRequestsThatAreCancelledOrInterruptedLeaveNoSession() throws Exception {
        try (TenureClient client = TenureClient.connect(server.url());
                TenureClient other = TenureClient.connect(server.url())) {
            cancelMany(client, "free");
            interruptMany(client, "free");
            Guard guard = other.lock("held").acquire();
            cancelMany(client, "held");
            interruptMany(client, "held");
            assertThat(guard.isValid()).isTrue();
            guard.release();
            Eventually.holds(
                    "no session is left", () -> other.listSessions().findAny().isEmpty());
            assertThat(other.listLocks("").findAny()).isEmpty();
        }
    }

    @Test
    void closeLeavesNoSessionOfRequestsThatWereJustCancelled() throws Exception {
        try (TenureClient other = TenureClient.connect(server.url());
                Guard guard = other.lock("closing").acquire()) {
            TenureClient client = TenureClient.connect(server.url());
            cancelMany(client, "closing");
            client.close();
            assertThat(other.listSessions().map(io.tenure.client.v1.Session::getId))
                    .containsExactly(guard.session().id());
        }
    }

    @Test
    void closeOfAnInterruptedThreadStillClosesTheSessions() throws Exception {
        TenureClient client = TenureClient.connect(server.url());
        Session session = client.session(SessionOptions.defaults());
        Thread.currentThread().interrupt();
        client.close();
        assertThat(Thread.interrupted()).isTrue();
        try (TenureClient other = TenureClient.connect(server.url())) {
            assertThat(other.listSessions()).noneMatch(open -> open.getId().equals(session.id()));
        }
    }
}
