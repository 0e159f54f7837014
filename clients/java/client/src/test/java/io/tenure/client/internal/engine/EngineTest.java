package io.tenure.client.internal.engine;

import static io.tenure.client.internal.engine.Script.TTL;
import static io.tenure.client.internal.engine.Script.ms;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.tenure.client.EndReason;
import io.tenure.client.LostReason;
import io.tenure.client.Refusal;
import io.tenure.client.SessionState;
import io.tenure.client.TenureException;
import io.tenure.client.internal.Clock;
import io.tenure.client.v1.AcquireResponse;
import io.tenure.client.v1.Answer;
import io.tenure.client.v1.Claim;
import io.tenure.client.v1.ClaimState;
import io.tenure.client.v1.Command;
import io.tenure.client.v1.HoldEnded;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class EngineTest {
    private final Script script = new Script();

    @Test
    void aSessionIsRenewedEveryThirdOfItsTtlAndStaysHealthy() {
        Opened session = script.open("s");
        for (int renewal = 0; renewal < 5; renewal++) {
            script.pass(TTL / 3);
            Command command = script.sentOne();
            assertThat(command.getKeepAlive().getSessionIdsList()).containsExactly("s");
            script.pass(ms(50));
            script.kept(command, "s");
            script.now -= ms(50);
        }
        assertThat(session.presence().check(script.now)).isEqualTo(SessionState.HEALTHY);
    }

    @Test
    void aRefusalOfTheCredentialsIsToldToWhoWaitsAndOpenSessionsGoOn() {
        Opened session = script.open("s");
        script.engine.disconnected("moved");
        CompletableFuture<Opened> waiting = script.askToOpen("t");
        script.engine.trouble(Trouble.unreachable("nobody is there"), script.now);
        assertThat(waiting).isNotDone();
        Refusal refusal = new Refusal("UNAUTHENTICATED", "who is it?", Map.of("rule", "known-token"));
        script.engine.trouble(Trouble.unauthenticated(refusal), script.now);
        assertThat(waiting)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .havingCause()
                .isInstanceOfSatisfying(TenureException.Refused.class, refused -> assertThat(refused.refusal())
                        .isEqualTo(refusal));
        assertThat(session.presence().check(script.now)).isEqualTo(SessionState.HEALTHY);
        script.engine.connected(script.now);
        // What was never asked for is not closed either.
        assertThat(script.sentOne().getAttachSession().getSessionId()).isEqualTo("s");
    }

    @Test
    void whatOpensAttachesAndClosesASessionNamesTheClient() {
        script.engine.connected(script.now);
        CompletableFuture<Opened> opened = script.askToOpen("s");
        Command open = script.sentOne();
        assertThat(open.getOpenSession().getClientId()).isEqualTo("program-1");
        script.opened(open, "s");
        script.engine.connected(script.now);
        assertThat(script.sentOne().getAttachSession().getClientId()).isEqualTo("program-1");
        script.engine.closeUnasked("s", opened.join().presence(), script.now);
        assertThat(script.sentOne().getCloseSession().getClientId()).isEqualTo("program-1");
    }

    @Test
    void aServerThatDoesNotAnswerARenewalIsLeft() {
        script.open("s");
        script.pass(TTL / 3);
        assertThat(script.engine.takeVerdict()).isEqualTo(Verdict.GOOD);
        script.pass(TTL / 4);
        assertThat(script.engine.takeVerdict()).isEqualTo(Verdict.BROKEN);
    }

    @Test
    void aSessionThatIsNotRenewedIsAtRiskThenLostAndThenClosed() {
        Opened session = script.open("s");
        CompletableFuture<Granted> granted = script.acquire(session, "job");
        script.grant(script.sentOne(), 7);
        script.engine.disconnected("down");
        script.pass(ms(728));
        assertThat(session.presence().check(script.now)).isEqualTo(SessionState.AT_RISK);
        script.pass(ms(400));
        assertThat(session.presence().lost()).isEqualTo(LostReason.of(LostReason.Kind.EXPIRED));
        assertThat(granted.join().hold().isValid()).isFalse();
        script.engine.connected(script.now);
        assertThat(script.sentOne().getCloseSession().getSessionId()).isEqualTo("s");
    }

    @Test
    void onANewStreamAttachmentsAreCountedAndWaitsAreResumedWithWhatIsLeft() {
        Opened session = script.open("s");
        CompletableFuture<Granted> waiting = script.acquire(session, ms(800), "job");
        assertThat(script.sentOne().getAcquire().getWait().getNanos()).isEqualTo(ms(800));
        script.engine.disconnected("moved");
        script.now += ms(300);
        script.engine.connected(script.now);
        Command attach = script.sentOne();
        assertThat(attach.getAttachSession().getAttachment()).isEqualTo(2);
        script.attached(attach, Script.session("s"), 9);
        Command again = script.sentOne();
        assertThat(again.getAcquire().getWait().getNanos()).isEqualTo(ms(500));
        script.grant(again, 11);
        assertThat(waiting.join().hold().token()).isEqualTo(11);
    }

    @Test
    void aLateAttachmentGoesOnFromTheCountThatItIsTold() {
        script.open("s");
        script.engine.connected(script.now);
        script.refuse(script.sentOne(), "LATE_ATTACHMENT", Map.of("attachment", "7"));
        script.pass(ms(30));
        assertThat(script.sentOne().getAttachSession().getAttachment()).isEqualTo(8);
    }

    @Test
    void aHoldThatTheServerDoesNotKnowAnyMoreIsForgottenUnlessItIsNewer() {
        Opened session = script.open("s");
        CompletableFuture<Granted> old = script.acquire(session, "old");
        script.grant(script.sentOne(), 5);
        CompletableFuture<Granted> fresh = script.acquire(session, "fresh");
        script.grant(script.sentOne(), 20);
        script.engine.connected(script.now);
        script.attached(script.sentOne(), Script.session("s"), 10);
        assertThat(old.join().hold().lost()).isEqualTo(LostReason.of(LostReason.Kind.FORGOTTEN));
        assertThat(fresh.join().hold().isValid()).isTrue();
    }

    @Test
    void aSessionWhoseIdAnotherProgramUsesIsLostWithThatReason() {
        Opened session = script.open("s");
        CompletableFuture<Granted> held = script.acquire(session, "job");
        script.grant(script.sentOne(), 5);
        script.engine.connected(script.now);
        script.refuse(script.sentOne(), "SESSION_IN_USE", Map.of("session_id", "s"));
        assertThat(held.join().hold().lost()).isEqualTo(LostReason.of(LostReason.Kind.IN_USE));
    }

    @Test
    void aHoldThatTheClientDoesNotKnowIsGivenBack() {
        script.open("s");
        script.engine.connected(script.now);
        Claim stray = Claim.newBuilder()
                .addNames("job")
                .setState(ClaimState.CLAIM_STATE_HELD)
                .setToken(4)
                .build();
        script.attached(script.sentOne(), Script.session("s").addClaims(stray), 10);
        assertThat(script.sentOne().getRelease().getToken()).isEqualTo(4);
    }

    @Test
    void requestsOfOneSessionForOneNameTakeTurns() {
        Opened session = script.open("s");
        long first = script.nextKey();
        script.acquire(first, session, Clock.NEVER, () -> {}, "a");
        script.grant(script.sentOne(), 3);
        CompletableFuture<Granted> second = script.acquire(session, "a");
        assertThat(script.sent()).isEmpty();
        Granted busy = script.acquire(session, 0, "a").join();
        assertThat(busy.hold()).isNull();
        assertThat(busy.holder().token()).isEqualTo(3);
        CompletableFuture<Void> released = new CompletableFuture<>();
        script.engine.release("s", first, script.now + ms(5_000), released, script.now);
        script.released(script.sentOne());
        assertThat(released).isCompleted();
        script.grant(script.sentOne(), 6);
        assertThat(second.join().hold().token()).isEqualTo(6);
    }

    @Test
    void whoGivesUpEndsTheCommandAndThenWithdrawsTheClaim() {
        Opened session = script.open("s");
        AtomicBoolean isGone = new AtomicBoolean();
        long key = script.nextKey();
        script.acquire(key, session, Clock.NEVER, () -> isGone.set(true), "a");
        Command acquire = script.sentOne();
        script.engine.dropClaim("s", key, script.now);
        assertThat(script.sentOne().getCancel().getCommandId()).isEqualTo(acquire.getId());
        // It was granted just before.
        script.grant(acquire, 8);
        Command withdrawal = script.sentOne();
        assertThat(withdrawal.getCancelAcquire().getNamesList()).containsExactly("a");
        assertThat(isGone).isFalse();
        script.answer(
                withdrawal,
                Answer.newBuilder().setCancelAcquire(io.tenure.client.v1.CancelAcquireResponse.getDefaultInstance()));
        assertThat(isGone).isTrue();
    }

    @Test
    void aGrantThatNobodyWaitsForAnyMoreIsReleased() {
        Opened session = script.open("s");
        CompletableFuture<Granted> given = script.acquire(session, "a");
        given.cancel(false);
        script.grant(script.sentOne(), 8);
        assertThat(script.sentOne().getRelease().getToken()).isEqualTo(8);
    }

    @Test
    void aReleaseOfWhatOnlyTheServerKnowsToBeLostFailsAsLostBeItRepeatedOrNot() {
        Opened session = script.open("s");
        long key = script.nextKey();
        script.acquire(key, session, Clock.NEVER, () -> {}, "a");
        script.grant(script.sentOne(), 8);
        CompletableFuture<Void> released = new CompletableFuture<>();
        script.engine.release("s", key, script.now + ms(5_000), released, script.now);
        script.sentOne();
        script.engine.connected(script.now);
        script.attached(script.sentOne(), Script.session("s"), 9);
        script.refuse(script.sentOne(), "HOLD_ENDED", Map.of("end_reason", "evicted"));
        TenureException.Lost lost =
                (TenureException.Lost) catchThrowable(released::join).getCause();
        assertThat(lost.reason()).isEqualTo(LostReason.ended(EndReason.EVICTED, null, null));
    }

    @Test
    void aNoticeThatOvertakesTheGrantIsNotLost() {
        Opened session = script.open("s");
        CompletableFuture<Granted> granted = script.acquire(session, "a");
        Command acquire = script.sentOne();
        HoldEnded ended = HoldEnded.newBuilder()
                .setSessionId("s")
                .addNames("a")
                .setToken(8)
                .setReason(io.tenure.client.v1.EndReason.END_REASON_EVICTED)
                .setOperator("op")
                .build();
        script.answer(Answer.newBuilder().setHoldEnded(ended));
        script.grant(acquire, 8);
        assertThat(granted.join().hold().lost()).isEqualTo(LostReason.ended(EndReason.EVICTED, "op", null));
    }

    @Test
    void aRefusalForNowIsAskedAgainUntilTheDeadline() {
        Opened session = script.open("s");
        CompletableFuture<Granted> granted = script.acquire(session, 0, "a");
        for (int refusal = 0; refusal < 3; refusal++) {
            script.refuse(script.sentOne(), "STORE_UNAVAILABLE", Map.of());
            script.now += ms(100);
            script.engine.due(script.now);
        }
        script.sentOne();
        script.now += ms(5_000);
        script.engine.due(script.now);
        assertThat(granted).isCompletedExceptionally();
    }

    @Test
    void aWaitWithoutEndThatTheServerEndsIsAskedAnew() {
        Opened session = script.open("s");
        CompletableFuture<Granted> granted = script.acquire(session, "a");
        script.answer(script.sentOne(), Answer.newBuilder().setAcquire(AcquireResponse.getDefaultInstance()));
        script.pass(ms(30));
        script.grant(script.sentOne(), 4);
        assertThat(granted.join().hold().token()).isEqualTo(4);
    }

    @Test
    void shuttingDownClosesAllSessionsAndRefusesWhatComesAfter() {
        Opened session = script.open("s");
        CompletableFuture<Void> done = new CompletableFuture<>();
        script.engine.shutDown(script.now + ms(2_000), done, script.now);
        assertThat(session.presence().lost()).isEqualTo(LostReason.of(LostReason.Kind.CLOSED));
        assertThat(script.acquire(session, "a"))
                .failsWithin(java.time.Duration.ZERO)
                .withThrowableOfType(java.util.concurrent.ExecutionException.class)
                .withCauseInstanceOf(TenureException.Closed.class);
        assertThat(script.engine.isShutDown()).isFalse();
        script.answer(
                script.sentOne(),
                Answer.newBuilder().setCloseSession(io.tenure.client.v1.CloseSessionResponse.getDefaultInstance()));
        assertThat(script.engine.isShutDown()).isTrue();
        script.engine.tellShutDown();
        assertThat(done).isCompleted();
    }

    @Test
    void aStreamOnWhichNothingIsHeardIsProbed() {
        script.engine.connected(script.now);
        script.pass(ms(5_000));
        List<Command> probe = script.sent();
        assertThat(probe).singleElement().matches(Command::hasCancel);
        script.pass(ms(2_999));
        assertThat(script.engine.takeVerdict()).isEqualTo(Verdict.GOOD);
        script.pass(ms(1));
        assertThat(script.engine.takeVerdict()).isEqualTo(Verdict.BROKEN);
    }
}
