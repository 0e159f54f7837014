package io.tenure.client.protocol;

import static io.tenure.client.protocol.Bench.RENEW_AFTER;
import static io.tenure.client.protocol.Bench.VALID_FOR;
import static io.tenure.client.protocol.Bench.ended;
import static io.tenure.client.protocol.Bench.lost;
import static io.tenure.client.protocol.Bench.ms;
import static io.tenure.client.protocol.Bench.opened;
import static io.tenure.client.protocol.Bench.withdrawal;
import static org.assertj.core.api.Assertions.assertThat;

import io.tenure.client.LostReason;
import io.tenure.client.v1.Change;
import io.tenure.client.v1.ConnectRequest;
import io.tenure.client.v1.ConnectResponse;
import io.tenure.client.v1.EndReason;
import io.tenure.client.v1.Hello;
import io.tenure.client.v1.State;
import io.tenure.client.v1.States;
import io.tenure.client.v1.Welcome;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How long sessions are valid. */
class ValidityTest {
    @Test
    void sessionIsValidFromTheDeclarationAndThenFromEachKeepAlive() {
        Bench bench = Bench.connected();
        Presence session = bench.open();
        bench.sent();
        bench.pass(ms(100));
        bench.states(opened(session));
        assertThat(session.openValidity().renewed()).isEqualTo(ms(10_000));
        assertThat(session.openValidity().until()).isEqualTo(ms(11_100));
        bench.pass(ms(299));
        assertThat(bench.sent()).isEmpty();
        bench.pass(ms(1));
        long number = bench.keepAlive();
        bench.pass(ms(100));
        bench.kept(number);
        assertThat(session.openValidity().until()).isEqualTo(ms(11_500));
        bench.pass(ms(300));
        bench.keepAlive();
    }

    @Test
    void keepAlivesFollowTheSessionThatNeedsThemFirst() {
        Bench bench = Bench.connected();
        Presence slow = bench.open();
        bench.states(opened(slow, ms(10_000), ms(20_000), ms(30_000)));
        bench.sent();
        bench.pass(ms(1_000));
        Presence fast = bench.open();
        bench.states(opened(fast, ms(1_000), ms(20_000), ms(30_000)));
        bench.sent();
        bench.pass(ms(1_000));
        bench.kept(bench.keepAlive());
        bench.states(ended(fast, EndReason.END_REASON_CLOSED));
        bench.pass(ms(10_000));
        bench.keepAlive();
    }

    @Test
    void sessionThatIsNotRenewedIsLost() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        Presence claim = bench.hold(session, 7);
        bench.pass(VALID_FOR - ms(1));
        bench.sent();
        assertThat(claim.lostReason(bench.now)).isNull();
        bench.pass(ms(1));
        assertThat(List.of(claim.status(), session.status())).containsOnly(lost(LostReason.Kind.UNRENEWED));
        assertThat(bench.changes()).containsExactly(withdrawal(session));
        bench.reconnect();
        assertThat(bench.hello().getKnownList()).as("the server is to end it").isEmpty();
    }

    @Test
    void processSuspendedBeyondTheValidityLosesItsSessionsWhateverHasArrived() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        bench.pass(RENEW_AFTER);
        long number = bench.keepAlive();
        bench.now += ms(700);
        bench.kept(number);
        assertThat(session.status()).isEqualTo(lost(LostReason.Kind.UNRENEWED));
        bench.states(opened(session));
        assertThat(session.status()).isEqualTo(lost(LostReason.Kind.UNRENEWED));
    }

    @Test
    void sessionThatHandlesHaveSeenExpireIsNotRenewed() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        Presence claim = bench.hold(session, 7);
        bench.pass(RENEW_AFTER);
        long number = bench.keepAlive();
        // The thread that receives the renewal has read the clock before.
        assertThat(claim.lostReason(bench.now + VALID_FOR)).isEqualTo(LostReason.of(LostReason.Kind.UNRENEWED));
        bench.kept(number);
        assertThat(List.of(claim.status(), session.status())).containsOnly(lost(LostReason.Kind.UNRENEWED));
        assertThat(claim.lostReason(bench.now)).isEqualTo(LostReason.of(LostReason.Kind.UNRENEWED));
        assertThat(bench.changes()).containsExactly(withdrawal(session));
    }

    @Test
    void lostHoldStaysLostWhenItIsWithdrawn() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        Presence lost = bench.hold(session, 7);
        assertThat(lost.withdraw(bench.now + VALID_FOR)).isEqualTo(LostReason.of(LostReason.Kind.UNRENEWED));
        Presence held = Bench.connected().session();
        assertThat(held.withdraw(bench.now)).isNull();
        assertThat(held.lostReason(bench.now)).isEqualTo(LostReason.of(LostReason.Kind.CLOSED));
        assertThat(held.withdraw(bench.now)).isEqualTo(LostReason.of(LostReason.Kind.CLOSED));
    }

    @Test
    void sessionWhoseStateArrivesTooLateIsLost() {
        Bench bench = Bench.connected();
        Presence session = bench.open();
        bench.sent();
        bench.now += VALID_FOR;
        bench.states(opened(session));
        assertThat(session.status()).isEqualTo(lost(LostReason.Kind.UNRENEWED));
    }

    @Test
    void helloRenewsOnceTheSessionIsReported() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        bench.pass(ms(300));
        bench.reconnect();
        bench.hello();
        bench.pass(ms(100));
        bench.welcome();
        assertThat(session.openValidity().renewed()).as("it may have ended").isEqualTo(ms(10_000));
        bench.pass(ms(300));
        bench.kept(bench.keepAlive());
        assertThat(session.openValidity().renewed()).isEqualTo(ms(10_000));
        bench.states(opened(session));
        assertThat(session.openValidity().renewed()).isEqualTo(ms(10_300));
    }

    @Test
    void keepAliveAcknowledgedOnAnEarlierStreamDoesNotCount() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        bench.pass(RENEW_AFTER);
        long number = bench.keepAlive();
        long old = bench.epoch;
        bench.pass(ms(50));
        bench.connect();
        bench.receiveFrom(old, Bench.kept(ConnectResponse.newBuilder(), number));
        bench.welcome();
        assertThat(session.openValidity().renewed()).isEqualTo(ms(10_000));
        bench.states(opened(session));
        assertThat(session.openValidity().renewed()).isEqualTo(ms(10_450));
    }

    @Test
    void sessionWithoutProgressAgesAndIsRenewedAfterATick() {
        boolean[] isStalled = {false};
        Bench bench = Bench.connected();
        Presence session = bench.open((since, now) -> isStalled[0]);
        bench.sent();
        bench.states(opened(session));
        bench.pass(RENEW_AFTER);
        long before = bench.keepAlive();
        isStalled[0] = true;
        bench.protocol.handleTimeout(bench.now);
        assertThat(bench.changes())
                .containsExactly(Change.newBuilder().setPause(session.number).build());
        assertThat(session.openValidity().isPaused()).isTrue();
        bench.kept(before);
        assertThat(session.openValidity().renewed()).as("sent before the pause").isEqualTo(ms(10_400));
        bench.pass(RENEW_AFTER);
        assertThat(bench.sent()).as("nothing to renew").noneMatch(ConnectRequest::hasKeepAlive);
        bench.reconnect();
        Hello hello = bench.hello();
        assertThat(hello.getKnownList()).containsExactly(session.number);
        assertThat(hello.getPausedList()).containsExactly(session.number);
        bench.welcome();
        bench.states(opened(session));
        assertThat(session.openValidity().renewed()).isEqualTo(ms(10_400));
        isStalled[0] = false;
        bench.pass(ms(100));
        List<ConnectRequest> sent = bench.sent();
        assertThat(sent).hasSize(2);
        assertThat(sent.get(0).getChanges().getChanges(0).getResume()).isEqualTo(session.number);
        bench.kept(sent.get(1).getKeepAlive().getNumber());
        assertThat(session.openValidity().isPaused()).isFalse();
        assertThat(session.openValidity().renewed()).isBetween(ms(10_800), bench.now);
    }

    @Test
    void sessionWithoutProgressIsLostAsStalled() {
        Bench bench = Bench.connected();
        Presence session = bench.open((since, now) -> true);
        bench.states(opened(session));
        bench.pass(VALID_FOR);
        assertThat(session.status()).isEqualTo(lost(LostReason.Kind.STALLED));
    }

    /** A server that ends a session as early as it may: its clock runs as fast as clocks may. */
    private static final class Server {
        private static final long TTL = ms(1_200);

        private boolean hasSession;
        private long renewed;

        boolean hasSession(long now) {
            return hasSession && now < renewed + (long) (TTL / 1.01);
        }

        List<ConnectResponse.Builder> process(ConnectRequest request, Presence session, long now) {
            hasSession = hasSession(now);
            if (request.hasHello()) {
                boolean opens = request.getHello().getDeclaredList().stream().anyMatch(declared -> declared.hasOpen());
                hasSession |= opens;
                renewed = now;
                return List.of(
                        ConnectResponse.newBuilder().setWelcome(Welcome.getDefaultInstance()),
                        states(hasSession ? opened(session) : ended(session, EndReason.END_REASON_EXPIRED)));
            }
            if (request.hasKeepAlive()) {
                renewed = now;
                return List.of(Bench.kept(
                        ConnectResponse.newBuilder(), request.getKeepAlive().getNumber()));
            }
            List<Change> changes = request.getChanges().getChangesList();
            boolean opens = changes.stream().anyMatch(Change::hasDeclare);
            hasSession = (hasSession || opens) && changes.stream().noneMatch(Change::hasWithdraw);
            renewed = opens ? now : renewed;
            return opens ? List.of(states(opened(session))) : List.of();
        }

        private static ConnectResponse.Builder states(State.Builder state) {
            return ConnectResponse.newBuilder().setStates(States.newBuilder().addStates(state));
        }
    }

    /** Whatever arrives when, what is called valid has not ended at the server, and what is lost stays lost. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void sessionIsNeverValidAfterTheServerMayHaveEndedIt(long seed) {
        Random random = new Random(seed);
        for (int run = 0; run < 200; run++) {
            Bench bench = new Bench();
            Presence session = bench.open();
            bench.connect();
            Server server = new Server();
            List<ConnectRequest> toServer = new ArrayList<>();
            Queue<ConnectResponse.Builder> toClient = new ArrayDeque<>();
            boolean wasLost = false;
            for (int step = 0; step < 100; step++) {
                toServer.addAll(bench.sent());
                int event = random.nextInt(17);
                if (event < 4) {
                    bench.pass(ms(random.nextInt(400)));
                } else if (event < 10) {
                    toServer.forEach(request -> toClient.addAll(server.process(request, session, bench.now)));
                    toServer.clear();
                } else if (event < 16) {
                    ConnectResponse.Builder next = toClient.poll();
                    if (next != null) {
                        bench.receive(next);
                    }
                } else {
                    toServer.clear();
                    toClient.clear();
                    bench.reconnect();
                }
                boolean isValid = session.validity() != null && session.lostReason(bench.now) == null;
                assertThat(isValid && wasLost)
                        .as("revived, seed %d run %d", seed, run)
                        .isFalse();
                assertThat(!isValid || server.hasSession(bench.now))
                        .as("seed %d run %d", seed, run)
                        .isTrue();
                wasLost |= session.lostReason(bench.now) != null;
            }
        }
    }
}
