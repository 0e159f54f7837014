package engine

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func TestAHoldThatIsNotThereAnyMoreIsLostOnAttaching(t *testing.T) {
	b := newBench(t)
	_, hold := b.hold("a", b.session("a"), 7)
	for _, told := range []struct {
		answer *tenurev1.Answer
		isLost bool
	}{
		{attached("a", 9, 7), false},
		// A state from before the grant says nothing about it.
		{attached("a", 6), false},
		{attached("a", 9), true},
	} {
		b.reconnect()
		command, _ := saidOnce[*tenurev1.Command_AttachSession](b)
		b.hear(told.answer, command)
		equal(t, "lost", hold.Check(b.now) != nil, told.isLost)
	}
	equal(t, "why", hold.Check(b.now).Reason, LostForgotten)
}

func TestAWaitingAcquireIsAskedAgainWithWhatIsLeftOfItsWait(t *testing.T) {
	b := newBench(t)
	_, reply := b.acquire("a", b.session("a"), Wait{AtMost: time.Second})
	_, kind := saidOnce[*tenurev1.Command_Acquire](b)
	equal(t, "wait", kind.Acquire.Wait.AsDuration(), time.Second)
	b.pass(300 * ms)
	b.reconnect()
	attach, _ := saidOnce[*tenurev1.Command_AttachSession](b)
	b.hear(attached("a", 1), attach)
	command, kind := saidOnce[*tenurev1.Command_Acquire](b)
	equal(t, "the rest", kind.Acquire.Wait.AsDuration(), 700*ms)
	b.hear(acquired(3), command)
	equal(t, "token", outcome(b, reply).Value.Hold.Token, 3)
}

func TestAnAcquireThatWasGivenUpEndsBeforeItIsWithdrawn(t *testing.T) {
	b := newBench(t)
	presence := b.session("a")
	key, _ := b.acquire("a", presence, forever)
	acquire, _ := saidOnce[*tenurev1.Command_Acquire](b)
	b.engine.DropClaim("a", key, b.now)
	_, cancel := saidOnce[*tenurev1.Command_Cancel](b)
	equal(t, "cancelled", cancel.Cancel.CommandId, acquire)
	_, next := b.acquire("a", presence, forever)
	b.saidNothing("the next one waits for its turn")
	// It was granted meanwhile.
	b.hear(acquired(3), acquire)
	withdrawal, _ := saidOnce[*tenurev1.Command_CancelAcquire](b)
	b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_CancelAcquire{
		CancelAcquire: &tenurev1.CancelAcquireResponse{},
	}}, withdrawal)
	command, _ := saidOnce[*tenurev1.Command_Acquire](b)
	b.hear(acquired(5), command)
	equal(t, "token", outcome(b, next).Value.Hold.Token, 5)
}

func TestAGrantThatNobodyReceivesIsReleased(t *testing.T) {
	b := newBench(t)
	key, _ := b.acquire("a", b.session("a"), forever)
	command, _ := saidOnce[*tenurev1.Command_Acquire](b)
	b.hear(acquired(3), command)
	b.engine.DropClaim("a", key, b.now)
	_, kind := saidOnce[*tenurev1.Command_Release](b)
	equal(t, "token", kind.Release.Token, 3)
}

func TestAReleaseIsRepeatedUntilItIsAnswered(t *testing.T) {
	b := newBench(t)
	key, hold := b.hold("a", b.session("a"), 3)
	reply := b.engine.Release("a", key, b.now.After(callTimeout), b.now)
	equal(t, "not valid from the asking on", hold.Check(b.now).Reason, LostReleased)
	saidOnce[*tenurev1.Command_Release](b)
	b.reconnect()
	attach, _ := saidOnce[*tenurev1.Command_AttachSession](b)
	b.hear(attached("a", 5), attach)
	again, _ := saidOnce[*tenurev1.Command_Release](b)
	b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_Release{Release: &tenurev1.ReleaseResponse{}}}, again)
	equal(t, "done", outcome(b, reply).Err, nil)
}

func TestAReleaseOfWhatOnlyTheServerKnowsToBeLostTellsThat(t *testing.T) {
	b := newBench(t)
	key, _ := b.hold("a", b.session("a"), 3)
	reply := b.engine.Release("a", key, b.now.After(callTimeout), b.now)
	command, _ := saidOnce[*tenurev1.Command_Release](b)
	b.refuse(command, "HOLD_ENDED", "end_reason", "evicted")
	var lost *Lost
	if err := outcome(b, reply).Err; !errors.As(err, &lost) || *lost != (Lost{Reason: LostEnded, EndReason: "evicted"}) {
		t.Errorf("%v", err)
	}
}

func TestWhatIsRefusedForNowIsTriedAgainUntilItsDeadline(t *testing.T) {
	b := newBench(t)
	_, reply := b.acquire("a", b.session("a"), Wait{})
	asked, tries := b.now, 0
	for len(reply) == 0 {
		if b.now.Since(asked) > callTimeout {
			t.Fatalf("no answer after %d tries", tries)
		}
		for _, command := range b.said() {
			switch command.Kind.(type) {
			case *tenurev1.Command_Acquire:
				tries++
				b.refuse(command.Id, "STORE_UNAVAILABLE")
			case *tenurev1.Command_KeepAlive:
				b.hear(kept("a"), command.Id)
			}
		}
		b.pass(10 * ms)
	}
	var refused *Refusal
	if err := outcome(b, reply).Err; !errors.As(err, &refused) || !refused.IsTransient() {
		t.Errorf("%v", err)
	}
	if tries < 10 || tries > 200 {
		t.Errorf("%d tries", tries)
	}
	equal(t, "the server is not to blame", b.engine.TakeVerdict(), Stay)
}

func TestAWaitInTheLocalQueueEndsWithWhoIsInTheWay(t *testing.T) {
	b := newBench(t)
	presence := b.session("a")
	b.hold("a", presence, 3)
	_, tried := b.acquire("a", presence, Wait{})
	equal(t, "tried", outcome(b, tried).Value.Holder.Token, 3)
	_, reply := b.acquire("a", presence, Wait{AtMost: 100 * ms})
	b.pass(99 * ms)
	equal(t, "told", len(reply), 0)
	b.pass(1 * ms)
	equal(t, "waited", outcome(b, reply).Value.Holder.Token, 3)
}

func evicted(token uint64) *tenurev1.Answer {
	return &tenurev1.Answer{Kind: &tenurev1.Answer_HoldEnded{HoldEnded: &tenurev1.HoldEnded{
		SessionId: "a", Names: []string{"job"}, Token: token, Reason: tenurev1.EndReason_END_REASON_EVICTED, Operator: "ops",
	}}}
}

func TestTheEndOfAHoldMayBeToldBeforeItsBeginning(t *testing.T) {
	for token, isLost := range map[uint64]bool{3: true, 5: false} {
		b := newBench(t)
		_, reply := b.acquire("a", b.session("a"), forever)
		command, _ := saidOnce[*tenurev1.Command_Acquire](b)
		b.hear(evicted(3), 0)
		b.hear(acquired(token), command)
		lost := outcome(b, reply).Value.Hold.Check(b.now)
		equal(t, "lost", lost != nil, isLost)
		if isLost {
			equal(t, "why", *lost, Lost{Reason: LostEnded, EndReason: "evicted", Operator: "ops"})
		}
	}
}

func TestAHandoffMayBeAskedForBeforeTheGrantIsTold(t *testing.T) {
	b := newBench(t)
	_, reply := b.acquire("a", b.session("a"), forever)
	command, _ := saidOnce[*tenurev1.Command_Acquire](b)
	b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_TransferRequested{TransferRequested: &tenurev1.TransferRequested{
		SessionId: "a", Names: []string{"job"}, Token: 3, Drain: durationpb.New(ttl),
	}}}, 0)
	b.hear(acquired(3), command)
	hold := outcome(b, reply).Value.Hold
	equal(t, "drain", hold.TransferRequest().Drain, ttl)
}

func TestWhatWasGivenBackIsGivenBackAgain(t *testing.T) {
	b := newBench(t)
	key, _ := b.hold("a", b.session("a"), 7)
	b.engine.DropClaim("a", key, b.now)
	command, _ := saidOnce[*tenurev1.Command_Release](b)
	b.hear(released(), command)
	b.reconnect()
	command, _ = saidOnce[*tenurev1.Command_AttachSession](b)
	b.hear(attached("a", 20, 7), command)
	stray, kind := saidOnce[*tenurev1.Command_Release](b)
	equal(t, "token", kind.Release.Token, 7)
	b.refuse(stray, "STORE_UNAVAILABLE")
	b.pass(ttl / 3)
	command, _ = saidOnce[*tenurev1.Command_AttachSession](b)
	waiting := attached("a", 20, 0)
	waiting.GetAttachedSession().Session.Claims[0].State = tenurev1.ClaimState_CLAIM_STATE_WAITING
	b.hear(waiting, command)
	saidOnce[*tenurev1.Command_CancelAcquire](b)
}
