package engine

import (
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func TestSessionsAreRenewedTogetherAtAThirdOfTheTTL(t *testing.T) {
	b := newBench(t)
	b.session("a")
	b.pass(50 * ms)
	b.session("b")
	b.pass(349 * ms)
	b.saidNothing("nothing is due")
	b.pass(1 * ms)
	_, kind := saidOnce[*tenurev1.Command_KeepAlive](b)
	if !slices.Equal(kind.KeepAlive.SessionIds, []string{"a", "b"}) {
		t.Errorf("%v", kind)
	}
}

func TestAServerThatDoesNotAnswerARenewalIsLeftWhileThereIsTime(t *testing.T) {
	b := newBench(t)
	presence := b.session("a")
	b.pass(699 * ms)
	equal(t, "before", b.engine.TakeVerdict(), Stay)
	b.pass(1 * ms)
	equal(t, "then", b.engine.TakeVerdict(), Broken)
	b.said()
	b.reconnect()
	command, kind := saidOnce[*tenurev1.Command_AttachSession](b)
	equal(t, "attachment", kind.AttachSession.Attachment, 2)
	b.hear(attached("a", 1), command)
	equal(t, "counted from the sending of the attach", presence.Until(), b.now.After(1128*ms))
	b.pass(400 * ms)
	saidOnce[*tenurev1.Command_KeepAlive](b)
}

func TestWhatOpensAttachesAndClosesASessionNamesTheClient(t *testing.T) {
	b := newBench(t)
	b.engine.Open("a", OpenSpec{TTL: ttl}, b.now.After(callTimeout), b.now)
	command, opening := saidOnce[*tenurev1.Command_OpenSession](b)
	equal(t, "opening", opening.OpenSession.ClientId, "program-1")
	b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_OpenSession{
		OpenSession: &tenurev1.OpenSessionResponse{Session: wireSession("a")},
	}}, command)
	b.reconnect()
	_, attaching := saidOnce[*tenurev1.Command_AttachSession](b)
	equal(t, "attaching", attaching.AttachSession.ClientId, "program-1")
	b.engine.closeUnasked("a", b.now)
	_, closing := saidOnce[*tenurev1.Command_CloseSession](b)
	equal(t, "closing", closing.CloseSession.ClientId, "program-1")
}

func TestRenewalsKeepASessionAndSilenceEndsIt(t *testing.T) {
	b := newBench(t)
	presence := b.session("a")
	_, hold := b.hold("a", presence, 3)
	for range 50 {
		b.pass(400 * ms)
		command, _ := saidOnce[*tenurev1.Command_KeepAlive](b)
		b.hear(kept("a"), command)
	}
	equal(t, "valid", presence.Until(), b.now.After(1128*ms))
	b.engine.Disconnected("gone")
	b.pass(1127 * ms)
	phase, _ := presence.Check(b.now)
	equal(t, "just before", phase, AtRisk)
	b.pass(1 * ms)
	equal(t, "the hold", hold.Check(b.now).Reason, LostExpired)
	b.engine.Connected(b.now)
	saidOnce[*tenurev1.Command_CloseSession](b)
}

func TestAShorterTTLIsRenewedEarlier(t *testing.T) {
	b := newBench(t)
	presence := b.session("a")
	b.pass(400 * ms)
	command, _ := saidOnce[*tenurev1.Command_KeepAlive](b)
	until := presence.Until()
	answer := kept("a")
	answer.GetKeepAlive().Sessions[0].Ttl = durationpb.New(300 * ms)
	b.hear(answer, command)
	equal(t, "what was promised before still stands", presence.Until(), until)
	b.pass(100 * ms)
	saidOnce[*tenurev1.Command_KeepAlive](b)
}

func TestAMovedSessionIsAttachedAgainAndOldAnswersDoNotCount(t *testing.T) {
	b := newBench(t)
	presence := b.session("a")
	b.pass(400 * ms)
	renewal, _ := saidOnce[*tenurev1.Command_KeepAlive](b)
	until := presence.Until()
	b.pass(10 * ms)
	b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_SessionMoved{
		SessionMoved: &tenurev1.SessionMoved{SessionId: "a"},
	}}, 0)
	b.hear(kept("a"), renewal)
	equal(t, "valid until", presence.Until(), until)
	b.pass(1 * ms)
	command, _ := saidOnce[*tenurev1.Command_AttachSession](b)
	b.hear(attached("a", 2), command)
	if presence.Until() <= until {
		t.Error("attaching renews")
	}
}

func TestALateAttachmentCountsOn(t *testing.T) {
	b := newBench(t)
	b.session("a")
	b.reconnect()
	command, _ := saidOnce[*tenurev1.Command_AttachSession](b)
	b.refuse(command, "LATE_ATTACHMENT", "attachment", "7")
	b.pass(20 * ms)
	_, kind := saidOnce[*tenurev1.Command_AttachSession](b)
	equal(t, "attachment", kind.AttachSession.Attachment, 8)
	reply := b.engine.Open("b", OpenSpec{TTL: ttl}, b.now.After(callTimeout), b.now)
	opening, _ := saidOnce[*tenurev1.Command_OpenSession](b)
	b.refuse(opening, "LATE_ATTACHMENT", "attachment", "3")
	_, again := saidOnce[*tenurev1.Command_OpenSession](b)
	equal(t, "attachment of the opening", again.OpenSession.Attachment, 4)
	equal(t, "told", len(reply), 0)
}

func TestAServerThatGoesAwayIsLeft(t *testing.T) {
	for _, reason := range []string{"DRAINING", "LEASE_LOST"} {
		b := newBench(t)
		b.acquire("a", b.session("a"), forever)
		command, _ := saidOnce[*tenurev1.Command_Acquire](b)
		b.refuse(command, reason)
		equal(t, reason, b.engine.TakeVerdict(), Leave)
	}
	b := newBench(t)
	b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_GoingAway{GoingAway: &tenurev1.GoingAway{}}}, 0)
	equal(t, "going away", b.engine.TakeVerdict(), Leave)
	equal(t, "settled", b.engine.IsSettled(), true)
}

func TestAServerThatCannotOpenASessionIsLeftUnlessItServesAnother(t *testing.T) {
	for _, servesAnother := range []bool{false, true} {
		b := newBench(t)
		want := Leave
		if servesAnother {
			b.session("other")
			want = Stay
		}
		b.engine.Open("a", OpenSpec{TTL: ttl}, b.now.After(callTimeout), b.now)
		for range 3 {
			command, _ := saidOnce[*tenurev1.Command_OpenSession](b)
			b.refuse(command, "STORE_UNAVAILABLE")
			b.pass(80 * ms)
		}
		equal(t, "verdict", b.engine.TakeVerdict(), want)
	}
}

func TestASessionThatNobodyWaitsForIsClosedAfterItsOpening(t *testing.T) {
	b := newBench(t)
	reply := b.engine.Open("a", OpenSpec{TTL: ttl}, b.now.After(callTimeout), b.now)
	opening, _ := saidOnce[*tenurev1.Command_OpenSession](b)
	b.engine.CancelOpen("a", reply, b.now)
	b.saidNothing("what depends on an answer is said after it")
	second := b.engine.Open("a", OpenSpec{TTL: ttl}, b.now.After(callTimeout), b.now)
	b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_OpenSession{
		OpenSession: &tenurev1.OpenSessionResponse{Session: wireSession("a")},
	}}, opening)
	closing, _ := saidOnce[*tenurev1.Command_CloseSession](b)
	b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_CloseSession{
		CloseSession: &tenurev1.CloseSessionResponse{},
	}}, closing)
	saidOnce[*tenurev1.Command_OpenSession](b)
	equal(t, "told", len(second), 0)
}

func TestWithAGraceItIsRenewedThreeTimesInIt(t *testing.T) {
	b := newBench(t)
	presence := b.sessionOf("a", OpenSpec{TTL: ttl, DisconnectGrace: 300 * ms})
	b.pass(100 * ms)
	saidOnce[*tenurev1.Command_KeepAlive](b)
	b.pass(182 * ms)
	_, lost := presence.Check(b.now)
	equal(t, "nothing was heard", lost.Reason, LostExpired)
}

func TestWhatTheServerSaysEndsASession(t *testing.T) {
	b := newBench(t)
	presence := b.session("a")
	_, reply := b.acquire("a", presence, forever)
	b.said()
	b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_SessionEnded{SessionEnded: &tenurev1.SessionEnded{
		SessionId: "a", Reason: tenurev1.EndReason_END_REASON_DISCONNECTED,
	}}}, 0)
	var lost *Lost
	if err := outcome(b, reply).Err; !errors.As(err, &lost) || lost.EndReason != "disconnected" {
		t.Errorf("%v", err)
	}
	b.saidNothing("it is over")
	forgotten := b.session("b")
	b.reconnect()
	command, _ := saidOnce[*tenurev1.Command_AttachSession](b)
	b.refuse(command, "SESSION_NOT_FOUND")
	_, lost = forgotten.Check(b.now)
	equal(t, "forgotten", lost.Reason, LostForgotten)
}

func TestASessionWhoseIDAnotherProgramUsesIsLostAndNotClosed(t *testing.T) {
	b := newBench(t)
	taken := b.session("a")
	b.reconnect()
	command, _ := saidOnce[*tenurev1.Command_AttachSession](b)
	b.refuse(command, "SESSION_IN_USE")
	_, lost := taken.Check(b.now)
	equal(t, "in use", lost.Reason, LostInUse)
	b.saidNothing("closing it would end the session of the other program")
}

func TestWithoutProgressItIsAtRiskAndThenLost(t *testing.T) {
	b := newBench(t)
	progress := NewProgress(600*ms, b.now)
	presence := b.sessionOf("a", OpenSpec{TTL: ttl, Progress: progress})
	b.pass(400 * ms)
	command, _ := saidOnce[*tenurev1.Command_KeepAlive](b)
	b.hear(kept("a"), command)
	b.pass(1127 * ms)
	b.saidNothing("without progress nothing renews")
	phase, _ := presence.Check(b.now)
	equal(t, "at risk", phase, AtRisk)
	b.pass(1 * ms)
	_, lost := presence.Check(b.now)
	equal(t, "lost", lost.Reason, LostStalled)
	saidOnce[*tenurev1.Command_CloseSession](b)
}

func TestProgressBeforeTheDeadlineMakesItSafeAgain(t *testing.T) {
	b := newBench(t)
	progress := NewProgress(600*ms, b.now)
	presence := b.sessionOf("a", OpenSpec{TTL: ttl, Progress: progress})
	b.pass(400 * ms)
	command, _ := saidOnce[*tenurev1.Command_KeepAlive](b)
	b.hear(kept("a"), command)
	b.pass(1050 * ms)
	// Nothing else renews it either: no acquire, no attaching.
	b.acquire("a", presence, forever)
	b.reconnect()
	b.saidNothing("without progress nothing renews")
	progress.Tick(b.now)
	b.pass(50 * ms)
	command, _ = saidOnce[*tenurev1.Command_AttachSession](b)
	b.hear(attached("a", 1), command)
	saidOnce[*tenurev1.Command_Acquire](b)
	phase, _ := presence.Check(b.now)
	equal(t, "phase", phase, Healthy)
}

func TestWhatIsHeldBackForWantOfProgressIsRenewedWithinTheGrace(t *testing.T) {
	b := newBench(t)
	progress := NewProgress(300*ms, b.now)
	b.sessionOf("a", OpenSpec{TTL: ttl, DisconnectGrace: 300 * ms, Progress: progress})
	for range 2 {
		b.pass(100 * ms)
		command, _ := saidOnce[*tenurev1.Command_KeepAlive](b)
		b.hear(kept("a"), command)
	}
	b.pass(110 * ms)
	b.saidNothing("stalled since the third renewal was due")
	progress.Tick(b.now)
	// Eight looks to a third of the grace.
	b.pass(13 * ms)
	saidOnce[*tenurev1.Command_KeepAlive](b)
}

func TestAStreamOnWhichNothingIsHeardIsProbed(t *testing.T) {
	b := newBench(t)
	b.pass(4999 * ms)
	b.saidNothing("it was just opened")
	b.pass(1 * ms)
	probe, _ := saidOnce[*tenurev1.Command_Cancel](b)
	b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_Cancelled{Cancelled: &tenurev1.CancelledCommand{}}}, probe)
	b.pass(5 * time.Second)
	saidOnce[*tenurev1.Command_Cancel](b)
	b.pass(3 * time.Second)
	equal(t, "verdict", b.engine.TakeVerdict(), Broken)
}

func TestShuttingDownClosesAndTells(t *testing.T) {
	b := newBench(t)
	presence := b.session("a")
	reply := b.engine.ShutDown(b.now.After(callTimeout), b.now)
	command, _ := saidOnce[*tenurev1.Command_CloseSession](b)
	equal(t, "ended", b.engine.TakeShutDown(), false)
	_, lost := presence.Check(b.now)
	equal(t, "lost", lost.Reason, LostClosed)
	b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_CloseSession{
		CloseSession: &tenurev1.CloseSessionResponse{},
	}}, command)
	equal(t, "ended", b.engine.TakeShutDown(), true)
	equal(t, "error", outcome(b, reply).Err, nil)
	if err := outcome(b, b.engine.Open("b", OpenSpec{TTL: ttl}, b.now, b.now)).Err; !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestNobodyWaitsForASessionWhereTheCredentialsAreRefused(t *testing.T) {
	b := newBench(t)
	presence := b.session("open")
	asked := b.engine.Open("asked", OpenSpec{TTL: ttl}, b.now.After(callTimeout), b.now)
	b.said()
	b.engine.Disconnected("gone")
	waiting := b.engine.Open("waiting", OpenSpec{TTL: ttl}, b.now.After(callTimeout), b.now)
	b.engine.Trouble(&Unavailable{Problem: "nobody is there"}, b.now)
	equal(t, "told", len(asked)+len(waiting), 0)
	refusal := &Refusal{Reason: "UNAUTHENTICATED"}
	b.engine.Trouble(refusal, b.now)
	equal(t, "the one that was asked for", outcome(b, asked).Err, error(refusal))
	equal(t, "the other", outcome(b, waiting).Err, error(refusal))
	phase, _ := presence.Check(b.now)
	equal(t, "what is open", phase, Healthy)

	b.engine.Connected(b.now)
	var attached, closed []string
	for _, command := range b.said() {
		attached = append(attached, command.GetAttachSession().GetSessionId())
		closed = append(closed, command.GetCloseSession().GetSessionId())
	}
	if !slices.Equal(attached, []string{"open", ""}) || !slices.Equal(closed, []string{"", "asked"}) {
		t.Errorf("attached %v, closed %v", attached, closed)
	}
}

func TestAttachmentsAreCountedFromTheFirstThatIsAskedFor(t *testing.T) {
	b := newBench(t)
	b.engine.Disconnected("gone")
	b.engine.Open("a", OpenSpec{TTL: ttl}, b.now.After(callTimeout), b.now)
	b.engine.Connected(b.now)
	_, kind := saidOnce[*tenurev1.Command_OpenSession](b)
	equal(t, "attachment", kind.OpenSession.Attachment, 1)
}
