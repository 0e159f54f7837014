package io.tenure.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tenure.client.testing.Eventually;
import io.tenure.client.testing.TestServer;
import io.tenure.client.v1.Claim;
import io.tenure.client.v1.ErrorReason;
import io.tenure.client.v1.EvictRequest;
import io.tenure.client.v1.HistoryEntry;
import io.tenure.client.v1.LockServiceGrpc;
import io.tenure.client.v1.ReleaseRequest;
import io.tenure.client.v1.TransferRequest;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Against a real server. */
@Timeout(60)
class ServiceTest {
    private static final Duration TTL = Duration.ofSeconds(3);
    private static TestServer server;

    private final String name = UUID.randomUUID().toString();
    private TenureClient client;
    private TenureClient other;

    @BeforeAll
    static void startServer() throws Exception {
        server = TestServer.start();
    }

    @AfterAll
    static void stopServer() throws Exception {
        server.close();
    }

    @BeforeEach
    void connect() {
        client = TenureClient.connect(server.url());
        other = TenureClient.connect(server.url());
    }

    @AfterEach
    void close() {
        client.close();
        other.close();
    }

    private void awaitWaiters(String lock, long count) throws InterruptedException {
        Eventually.holds(count + " wait", () -> other.getLock(lock).getWaiterCount() == count);
    }

    @Test
    void lockPassesToTheNextWithAHigherToken() throws Exception {
        Guard first = client.lock(name).ttl(TTL).owner("ann").acquire();
        assertThat(first.isValid()).isTrue();
        Attempt<Guard> attempt = other.lock(name).tryAcquire();
        assertThat(attempt).isInstanceOf(Attempt.Busy.class);
        assertThat(((Attempt.Busy<Guard>) attempt).busy().getHolder().getOwner())
                .isEqualTo("ann");
        CompletableFuture<Guard> waiting = other.lock(name).ttl(TTL).acquireAsync();
        awaitWaiters(name, 1);
        first.release();
        assertThat(first.lostReason()).isEqualTo(LostReason.of(LostReason.Kind.RELEASED));
        Guard second = waiting.get(5, TimeUnit.SECONDS);
        assertThat(second.token()).isGreaterThan(first.token());
        assertThatThrownBy(first::release).isInstanceOf(TenureException.Lost.class);
        second.close();
        Eventually.holds(
                "nothing is left", () -> other.getLock(name).getHoldersList().isEmpty());
    }

    @Test
    void guardClosesItsSession() throws Exception {
        String id = UUID.randomUUID().toString();
        Guard guard =
                client.lock(name).session(SessionOptions.defaults().id(id)).acquire();
        assertThat(other.listSessions()
                        .filter(session -> session.getId().equals(id))
                        .flatMap(session -> session.getClaimsList().stream()))
                .hasSize(1);
        guard.close();
        Eventually.holds("the session is closed", () -> other.listSessions()
                .noneMatch(session -> session.getId().equals(id)));
    }

    @Test
    void cancelledWaitLeavesNothing() throws Exception {
        Guard guard = client.lock(name).acquire();
        CompletableFuture<Guard> waiting = other.lock(name).acquireAsync();
        awaitWaiters(name, 1);
        waiting.cancel(false);
        awaitWaiters(name, 0);
        assertThatThrownBy(waiting::join).isInstanceOf(CancellationException.class);
        guard.release();
        Eventually.holds(
                "it has no holder", () -> other.getLock(name).getHoldersList().isEmpty());
        Eventually.holds(
                "no session is left", () -> other.listSessions().findAny().isEmpty());
    }

    @Test
    void interruptedWaitLeavesNothing() throws Exception {
        Guard guard = client.lock(name).acquire();
        Thread waiter = new Thread(
                () -> assertThatThrownBy(() -> other.lock(name).acquire()).isInstanceOf(InterruptedException.class));
        waiter.start();
        awaitWaiters(name, 1);
        waiter.interrupt();
        waiter.join();
        awaitWaiters(name, 0);
        guard.release();
    }

    @Test
    void waitEndsInTime() throws Exception {
        try (Guard guard = client.lock(name).acquire()) {
            long start = System.nanoTime();
            Attempt<Guard> attempt = other.lock(name).acquireWithin(Duration.ofMillis(200));
            assertThat(attempt.acquired().isPresent()).isFalse();
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(200));
            assertThat(guard.isValid()).isTrue();
        }
    }

    @Test
    void modesSetsAndPermits() throws Exception {
        try (Guard reader = client.lock(name).shared().acquire();
                Guard another = other.lock(name).shared().acquire()) {
            assertThat(client.lock(name).tryAcquire().acquired().isPresent()).isFalse();
            assertThat(reader.token()).isNotEqualTo(another.token());
        }
        String second = name + "-b";
        try (Guard both = client.locks(List.of(second, name)).acquire()) {
            assertThat(both.names()).containsExactly(name, second);
            assertThat(other.lock(second).tryAcquire().acquired().isPresent()).isFalse();
        }
        String pool = name + "-pool";
        try (Guard one = client.lock(pool).permits(2).limit(3).acquire()) {
            assertThat(other.lock(pool)
                            .permits(2)
                            .limit(3)
                            .tryAcquire()
                            .acquired()
                            .isPresent())
                    .isFalse();
            try (Guard rest = other.lock(pool).permits(1).acquire()) {
                assertThat(rest.isValid()).isEqualTo(one.isValid()).isTrue();
            }
        }
    }

    @Test
    void evictionInterruptsTheBodyAndIsReported() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        Thread evicting = new Thread(() -> {
            try {
                begun.await();
                other.evict(EvictRequest.newBuilder()
                        .setName(name)
                        .setOperator("op")
                        .setNote("enough")
                        .build());
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
        });
        evicting.start();
        assertThatThrownBy(() -> client.lock(name).run(hold -> {
                    begun.countDown();
                    new CountDownLatch(1).await();
                    return null;
                }))
                .isInstanceOfSatisfying(TenureException.Lost.class, lost -> assertThat(lost.reason())
                        .hasToString("evicted by op (enough)"));
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        evicting.join();
    }

    @Test
    void bodyRunsUnderTheLockAndItsErrorsPass() throws Exception {
        assertThat(client.lock(name).<Long>run(Hold::token)).isPositive();
        assertThatThrownBy(() -> client.lock(name).run(hold -> {
                    throw new IOException("mine");
                }))
                .isInstanceOf(IOException.class);
        assertThat(client.lock(name).tryRun(hold -> 5)).isEqualTo(new Attempt.Acquired<>(5));
    }

    @Test
    void lockOfAThreadIsEnteredAgainWithTheSameToken() throws Exception {
        try (Session session = client.session(SessionOptions.defaults().ttl(TTL))) {
            LockView lock = session.lock(name).asLock();
            lock.lock();
            long token = lock.hold().orElseThrow().token();
            assertThat(lock.tryLock()).isTrue();
            assertThat(lock.hold().orElseThrow().token()).isEqualTo(token);
            boolean others = CompletableFuture.supplyAsync(lock::tryLock).get(5, TimeUnit.SECONDS);
            assertThat(others).isFalse();
            lock.unlock();
            assertThat(other.getLock(name).getHoldersList()).hasSize(1);
            lock.unlock();
            assertThat(other.getLock(name).getHoldersList()).isEmpty();
            assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        }
    }

    @Test
    void refusalHasItsReason() {
        assertThatThrownBy(() -> client.session(SessionOptions.defaults().ttl(Duration.ofMillis(1))))
                .isInstanceOfSatisfying(TenureException.Refused.class, refused -> {
                    assertThat(refused.reason()).isEqualTo(ErrorReason.ERROR_REASON_INVALID_FIELD);
                    assertThat(refused.refusal().getMetadataMap().get("field")).isEqualTo("ttl");
                });
        assertThatThrownBy(() -> client.call(
                        LockServiceGrpc.getReleaseMethod(),
                        ReleaseRequest.newBuilder()
                                .setName(name)
                                .setSessionId("missing")
                                .setToken(1)))
                .isInstanceOfSatisfying(TenureException.Refused.class, refused -> assertThat(refused.reason())
                        .isEqualTo(ErrorReason.ERROR_REASON_SESSION_NOT_FOUND));
    }

    @Test
    void withoutAServerCallsAreUnavailableInTimeAndAfterCloseClosed() throws Exception {
        ClientOptions nowhere =
                ClientOptions.defaults().endpoints("127.0.0.1:1").callTimeout(Duration.ofMillis(300));
        TenureClient lonely = TenureClient.connect(nowhere);
        assertThatThrownBy(() -> lonely.lock(name).tryAcquire()).isInstanceOf(TenureException.Unavailable.class);
        assertThatThrownBy(() -> lonely.getLock(name)).isInstanceOf(TenureException.Unavailable.class);
        lonely.close();
        assertThatThrownBy(() -> lonely.getLock(name)).isInstanceOf(TenureException.Closed.class);
    }

    @Test
    void failedEndpointIsSkipped() throws Exception {
        ClientOptions two = ClientOptions.defaults().endpoints("127.0.0.1:1", server.url());
        try (TenureClient picky = TenureClient.connect(two);
                Guard guard = picky.lock(name).acquire()) {
            assertThat(guard.isValid()).isTrue();
        }
    }

    @Test
    void handoffIsConfirmedByReleasing() throws Exception {
        Guard first = client.lock(name).acquire();
        CompletableFuture<Guard> waiting = other.lock(name).acquireAsync();
        awaitWaiters(name, 1);
        CompletableFuture<Void> confirmed = first.transferRequested().thenCompose(request -> first.releaseAsync());
        Claim next = other.transfer(
                TransferRequest.newBuilder().setName(name).setOperator("op").build());
        confirmed.get(5, TimeUnit.SECONDS);
        Guard second = waiting.get(5, TimeUnit.SECONDS);
        assertThat(second.token()).isEqualTo(next.getToken());
        CompletableFuture<Guard> third = client.lock(name).acquireAsync();
        awaitWaiters(name, 1);
        long token = second.transferTo(null);
        assertThat(third.get(5, TimeUnit.SECONDS).token()).isEqualTo(token);
    }

    @Test
    void hungWorkLosesItsLock() throws Exception {
        Guard guard = client.lock(name)
                .ttl(Duration.ofSeconds(2))
                .stallAfter(Duration.ofMillis(500))
                .acquire();
        assertThat(guard.lost().get(10, TimeUnit.SECONDS)).isEqualTo(LostReason.of(LostReason.Kind.STALLED));
    }

    @Test
    void labelsAndHistoryAreKept() throws Exception {
        try (Guard guard = client.lock(name).metadata("at", "1").acquire()) {
            guard.updateMetadata(Map.of("at", "2"));
            assertThat(other.getLock(name).getHolders(0).getMetadataMap()).containsEntry("at", "2");
        }
        assertThat(other.history(name).toList()).singleElement().matches(HistoryEntry::hasHold);
    }

    @Test
    void observedLeaderChangesWithEachTerm() throws Exception {
        BlockingQueue<Hold> terms = new LinkedBlockingQueue<>();
        Thread candidate = new Thread(() -> assertThatThrownBy(
                        () -> client.election(name).ttl(TTL).owner("a").lead(leadership -> {
                            terms.add(leadership);
                            new CountDownLatch(1).await();
                        }))
                .isInstanceOf(InterruptedException.class));
        try (Watch<Optional<Claim>> leaders = other.election(name).observe()) {
            assertThat(leaders.next()).isEmpty();
            candidate.start();
            Hold first = terms.take();
            assertThat(leaders.next().orElseThrow().getToken()).isEqualTo(first.token());
            other.evict(
                    EvictRequest.newBuilder().setName(name).setOperator("op").build());
            Hold second = terms.take();
            assertThat(second.token()).isGreaterThan(first.token());
            assertThat(first.isValid()).isFalse();
            candidate.interrupt();
            candidate.join();
            Eventually.holds(
                    "there is no leader", () -> other.election(name).leader().isEmpty());
        }
    }

    @Test
    void workIsRepeatedWhileLeading() throws Exception {
        CountDownLatch thrice = new CountDownLatch(3);
        Thread leader = new Thread(() -> {
            assertThatThrownBy(() -> client.election(name).leadEvery(Duration.ofMillis(50), hold -> thrice.countDown()))
                    .isInstanceOf(InterruptedException.class);
        });
        leader.start();
        assertThat(thrice.await(10, TimeUnit.SECONDS)).isTrue();
        leader.interrupt();
        leader.join();
        Eventually.holds(
                "it resigned", () -> other.getLock(name).getHoldersList().isEmpty());
    }

    @Test
    void leaderOfAGroupAssigns() throws Exception {
        client.configureGroup(name, "10", null);
        try (Membership first = client.group(name).ttl(TTL).join()) {
            Membership second = other.group(name).ttl(TTL).join();
            Standing standing = first.await(now -> now.group().getMembersCount() == 2);
            assertThat(standing.leads()).isTrue();
            assertThatThrownBy(() -> second.assign(second.standing().group(), Map.of()))
                    .isInstanceOf(TenureException.Invalid.class);
            first.assign(standing.group(), Messages.assign(standing.group(), (place, member) -> "part-" + place));
            assertThat(second.await(Standing::isCurrent).assignment()).contains("part-1");
            assertThatThrownBy(() ->
                            first.assign(standing.group(), Map.of(first.number(), "x", second.number(), "y", 1L, "z")))
                    .isInstanceOf(TenureException.Refused.class);
            second.leave();
            assertThat(first.await(now -> now.group().getMembersCount() == 1).isCurrent())
                    .isFalse();
        }
        assertThatThrownBy(() -> client.configureGroup(name, "11", 1L))
                .isInstanceOfSatisfying(TenureException.Refused.class, refused -> assertThat(refused.reason())
                        .isEqualTo(ErrorReason.ERROR_REASON_CONFIG_CONFLICT));
    }

    @Test
    void memberThatTakesPartReceivesItsShare() throws Exception {
        BlockingQueue<String> shares = new LinkedBlockingQueue<>();
        Thread member = new Thread(() -> {
            try {
                client.group(name)
                        .ttl(TTL)
                        .takePart(
                                group -> Messages.assign(group, (place, of) -> "share-" + place),
                                standing -> standing.assignment().ifPresent(shares::add));
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
        });
        member.start();
        assertThat(shares.poll(10, TimeUnit.SECONDS)).isEqualTo("share-0");
        member.interrupt();
        member.join();
        Eventually.holds("it left", () -> other.getGroup(name).getMembersList().isEmpty());
    }

    @Test
    void thousandsOfLocksAreAcquiredAndReleasedAtTheSameTime() throws Exception {
        try (Session session = client.session(SessionOptions.defaults())) {
            List<CompletableFuture<Guard>> held = new java.util.ArrayList<>();
            for (int number = 0; number < 5_000; number++) {
                held.add(session.lock(name + number).acquireAsync());
            }
            List<CompletableFuture<Void>> released = new java.util.ArrayList<>();
            for (CompletableFuture<Guard> one : held) {
                released.add(one.get(40, TimeUnit.SECONDS).releaseAsync());
            }
            CompletableFuture.allOf(released.toArray(CompletableFuture[]::new)).get(40, TimeUnit.SECONDS);
        }
    }

    @Test
    void listsSpanPages() throws Exception {
        try (Session session = client.session(SessionOptions.defaults())) {
            List<CompletableFuture<Guard>> held = new java.util.ArrayList<>();
            for (int number = 0; number < 150; number++) {
                held.add(session.lock(name + "-" + number).acquireAsync());
            }
            CompletableFuture.allOf(held.toArray(CompletableFuture[]::new)).get(20, TimeUnit.SECONDS);
            assertThat(other.listLocks(name + "-")).hasSize(150);
        }
    }
}
