package io.tenure.client.protocol;

import static io.tenure.client.protocol.Bench.ended;
import static io.tenure.client.protocol.Bench.held;
import static io.tenure.client.protocol.Bench.lost;
import static io.tenure.client.protocol.Bench.opened;
import static io.tenure.client.protocol.Bench.state;
import static io.tenure.client.protocol.Bench.withdrawal;
import static org.assertj.core.api.Assertions.assertThat;

import io.tenure.client.LostReason;
import io.tenure.client.v1.BusyState;
import io.tenure.client.v1.Change;
import io.tenure.client.v1.Claim;
import io.tenure.client.v1.ConnectResponse;
import io.tenure.client.v1.EndReason;
import io.tenure.client.v1.GoingAway;
import io.tenure.client.v1.HeldState;
import io.tenure.client.v1.PendingTransfer;
import io.tenure.client.v1.Refusal;
import io.tenure.client.v1.State;
import io.tenure.client.v1.States;
import io.tenure.client.v1.WaitingState;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What the states of the server cause, and when the client leaves it. */
class StatesTest {
    private static final Status CONFIRMED = new Status.Confirmed();

    private static Refusal refusal(String reason) {
        return Refusal.newBuilder().setReason(reason).build();
    }

    @Test
    void claimWaitsAndIsHeld() {
        Bench bench = Bench.connected();
        Presence claim = bench.claim(bench.session());
        Claim holder = Claim.newBuilder().setToken(3).build();
        WaitingState waiting = WaitingState.newBuilder().setHolder(holder).build();
        bench.states(state(claim).setWaiting(waiting));
        assertThat(claim.status()).isEqualTo(new Status.Waiting(waiting));
        HeldState held = HeldState.newBuilder()
                .setToken(7)
                .setTransfer(PendingTransfer.newBuilder().setOperator("op"))
                .build();
        bench.states(state(claim).setHeld(held));
        assertThat(claim.status()).isEqualTo(new Status.Held(held, bench.now));
    }

    @Test
    void sessionOpenedForABusyLockEndsWithIt() {
        Bench bench = Bench.connected();
        Presence claim = bench.openWithClaim();
        List<Change> changes = bench.changes();
        assertThat(changes).singleElement().matches(Change::hasDeclare);
        assertThat(changes.get(0).getDeclare().getSession()).isEqualTo(claim.session.number);
        assertThat(changes.get(0).getDeclare().getClaims(0).getNumber()).isEqualTo(claim.number);
        BusyState busy = BusyState.getDefaultInstance();
        bench.states(state(claim).setBusy(busy), state(claim.session).setBusy(busy));
        assertThat(List.of(claim.status(), claim.session.status())).containsOnly(new Status.Busy(busy));
        assertThat(bench.protocol.isEmpty()).isTrue();
    }

    @Test
    void rejectedSessionEndsWithEverythingInIt() {
        Bench bench = Bench.connected();
        Presence session = bench.open();
        Presence claim = bench.claim(session);
        bench.states(state(session).setRejected(refusal("INVALID_FIELD")));
        assertThat(List.of(claim.status(), session.status()))
                .containsOnly(new Status.Rejected(refusal("INVALID_FIELD")));
        assertThat(bench.claim(session).status()).isEqualTo(lost(LostReason.Kind.FORGOTTEN));
    }

    @Test
    void statesAfterAWithdrawalAreIgnoredUntilTheEnd() {
        Bench bench = Bench.connected();
        Presence claim = bench.claim(bench.session());
        bench.withdraw(claim);
        bench.withdraw(claim);
        assertThat(bench.changes()).as("declared, and withdrawn once").hasSize(2);
        bench.states(held(claim, 7));
        assertThat(claim.isWithdrawn()).isTrue();
        bench.states(ended(claim, EndReason.END_REASON_RELEASED), held(claim, 7));
        assertThat(claim.status()).isEqualTo(CONFIRMED);
    }

    @Test
    void withdrawnSessionEndsWithEverythingInIt() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        Presence claim = bench.hold(session, 7);
        bench.withdraw(session);
        bench.withdraw(claim);
        assertThat(bench.changes()).containsExactly(withdrawal(session));
        assertThat(bench.claim(session).status()).isEqualTo(lost(LostReason.Kind.FORGOTTEN));
        bench.states(ended(session, EndReason.END_REASON_CLOSED));
        assertThat(List.of(claim.status(), session.status())).containsOnly(CONFIRMED);
        bench.pass(Bench.VALID_FOR * 2);
        assertThat(bench.sent()).as("nothing is left to renew").isEmpty();
    }

    @Test
    void claimOfAClosedSessionIsLostBecauseThatWasClosed() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        Presence claim = bench.claim(session);
        LostReason[] seen = new LostReason[1];
        claim.listen(() -> seen[0] = claim.lostReason(bench.now));
        bench.withdraw(session);
        assertThat(seen[0]).isEqualTo(LostReason.of(LostReason.Kind.CLOSED));
    }

    @Test
    void sessionIsSeenToEndBeforeWhatIsInIt() {
        List<BiConsumer<Bench, Presence>> ends = List.of(
                (bench, session) -> bench.states(ended(session, EndReason.END_REASON_EVICTED)),
                (bench, session) -> bench.states(state(session).setRejected(refusal("LIMIT_REACHED"))),
                (bench, session) -> bench.pass(Bench.VALID_FOR));
        for (BiConsumer<Bench, Presence> end : ends) {
            Bench bench = Bench.connected();
            Presence session = bench.session();
            Presence claim = bench.claim(session);
            List<Status> seen = new ArrayList<>();
            claim.listen(() -> seen.add(session.status()));
            end.accept(bench, session);
            assertThat(seen).hasSize(2).last().isInstanceOf(Status.End.class);
        }
    }

    @Test
    void holdThatTheDatabaseLostEndsAtOnce() {
        List<Function<Presence, State.Builder>> states =
                List.of(claim -> held(claim, 9), claim -> state(claim).setWaiting(WaitingState.getDefaultInstance()));
        for (Function<Presence, State.Builder> state : states) {
            Bench bench = Bench.connected();
            Presence session = bench.session();
            Presence claim = bench.hold(session, 7);
            bench.reconnect();
            bench.hello();
            bench.welcome();
            bench.states(opened(session), state.apply(claim));
            assertThat(claim.status()).isEqualTo(lost(LostReason.Kind.FORGOTTEN));
            assertThat(bench.changes()).containsExactly(withdrawal(claim));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = EndReason.class,
            names = {"UNRECOGNIZED"},
            mode = EnumSource.Mode.EXCLUDE)
    void withdrawnHoldIsReleasedUnlessItWasLostBefore(EndReason reason) {
        Bench bench = Bench.connected();
        Presence claim = bench.hold(bench.session(), 7);
        bench.withdraw(claim);
        bench.states(ended(claim, reason));
        boolean isLost = List.of(
                        EndReason.END_REASON_EXPIRED, EndReason.END_REASON_DISCONNECTED, EndReason.END_REASON_EVICTED)
                .contains(reason);
        assertThat(claim.status()).isEqualTo(isLost ? ended(reason) : CONFIRMED);
    }

    @Test
    void withdrawnHoldThatWaitsAgainIsNotReportedAsReleased() {
        Bench bench = Bench.connected();
        Presence claim = bench.hold(bench.session(), 7);
        bench.withdraw(claim);
        bench.states(state(claim).setWaiting(WaitingState.getDefaultInstance()));
        assertThat(claim.status()).isEqualTo(lost(LostReason.Kind.FORGOTTEN));
    }

    @ParameterizedTest
    @CsvSource({"7,true", "8,false"})
    void releasedHoldThatTheDatabaseLostIsNotReportedAsReleased(long lostRevision, boolean isReleased) {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        Presence claim = bench.hold(session, 7);
        bench.withdraw(claim);
        bench.reconnect();
        bench.sent();
        bench.welcome(lostRevision);
        bench.states(opened(session), ended(claim, EndReason.END_REASON_UNSPECIFIED));
        assertThat(claim.status()).isEqualTo(isReleased ? CONFIRMED : lost(LostReason.Kind.FORGOTTEN));
    }

    @Test
    void statesOfAnEarlierStreamAreIgnored() {
        Bench bench = Bench.connected();
        Presence claim = bench.claim(bench.session());
        long old = bench.epoch;
        bench.connect();
        States.Builder states = States.newBuilder().addStates(held(claim, 7));
        bench.receiveFrom(old, ConnectResponse.newBuilder().setStates(states));
        assertThat(claim.status()).isInstanceOf(Status.Declared.class);
        assertThat(bench.hello().getDeclared(0).getClaims(0).getNumber()).isEqualTo(claim.number);
    }

    @Test
    void serverThatIsGoingAwayIsLeft() {
        Bench bench = Bench.connected();
        bench.receive(ConnectResponse.newBuilder().setGoingAway(GoingAway.getDefaultInstance()));
        assertThat(bench.protocol.isLeaving()).isTrue();
        bench.connect();
        assertThat(bench.protocol.isLeaving()).isFalse();
    }

    @Test
    void serverThatDoesNotAcknowledgeIsLeftInTime() {
        Bench bench = Bench.connected();
        bench.session();
        bench.pass(Bench.RENEW_AFTER + Bench.VALID_FOR / 4 - 1);
        assertThat(bench.protocol.isLeaving()).isFalse();
        bench.pass(1);
        assertThat(bench.protocol.isLeaving()).isTrue();
    }

    @Test
    void serverThatDoesNotWelcomeIsLeft() {
        Bench bench = new Bench();
        bench.connect();
        bench.pass(Bench.ms(999));
        assertThat(bench.protocol.isLeaving()).isFalse();
        bench.pass(Bench.ms(1));
        assertThat(bench.protocol.isLeaving()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"false", "true"})
    void slowReplyIsProbedAndTheServerLeftOnlyWithoutASession(boolean hasSession) {
        Bench bench = Bench.connected();
        if (hasSession) {
            bench.session();
        }
        bench.open();
        bench.changes();
        for (long pause : new long[] {250, 150, 400, 199}) {
            bench.pass(Bench.ms(pause));
            bench.sent().forEach(sent -> {
                assertThat(sent.hasKeepAlive()).isTrue();
                bench.kept(sent.getKeepAlive().getNumber());
            });
        }
        assertThat(bench.protocol.isLeaving()).isFalse();
        bench.pass(Bench.ms(1));
        assertThat(bench.protocol.isLeaving()).isEqualTo(!hasSession);
    }

    @ParameterizedTest
    @CsvSource({"DRAINING,true", "STORE_UNAVAILABLE,false", "LIMIT_REACHED,false"})
    void rejectionByADrainingServerMakesTheClientLeave(String reason, boolean isLeft) {
        Bench bench = Bench.connected();
        Presence claim = bench.claim(bench.session());
        bench.states(state(claim).setRejected(refusal(reason)));
        assertThat(bench.protocol.isLeaving()).isEqualTo(isLeft);
    }
}
