package protocol

import (
	"testing"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func TestClaimWaitsAndIsHeld(t *testing.T) {
	b := connectedBench(t)
	claim := b.claim(b.session())
	changed := claim.Changed
	b.state(claim, waiting())
	select {
	case <-changed:
	default:
		t.Error("no waiter is woken")
	}
	if claim.State.GetWaiting() == nil {
		t.Errorf("%v", claim.State)
	}
	b.state(claim, held(7))
	b.pass(ms)
	requested := held(7)
	requested.GetHeld().Transfer = &tenurev1.PendingTransfer{Operator: "op"}
	b.state(claim, requested)
	if claim.State.GetHeld().Transfer.Operator != "op" || claim.Since != b.now || claim.token() != 7 {
		t.Errorf("%v", claim.State)
	}
	b.isValid(claim)
}

func TestSessionOpenedForABusyLockEndsWithIt(t *testing.T) {
	b := connectedBench(t)
	declaration := claims(nil)
	declaration.Open = &tenurev1.DeclaredSession{}
	session, claim := b.Declare(nil, declaration, b.now)
	declared := b.change().GetDeclare()
	if declared.Session != session.number || declared.Claims[0].Number != claim.number {
		t.Fatalf("%v", declared)
	}
	b.state(session, busy())
	if !claim.IsEnded || claim.State.GetBusy() == nil || !b.IsEmpty() {
		t.Errorf("%v", claim.State)
	}
}

func TestRejectedSessionEndsWithEverythingInIt(t *testing.T) {
	b := connectedBench(t)
	session := b.open()
	claim := b.claim(session)
	b.state(session, rejected("INVALID_FIELD"))
	for _, item := range []*Item{session, claim} {
		if !item.IsEnded || item.State.GetRejected().GetReason() != "INVALID_FIELD" {
			t.Errorf("%v", item.State)
		}
	}
}

func TestStatesAfterAWithdrawalAreIgnoredUntilTheEnd(t *testing.T) {
	b := connectedBench(t)
	claim := b.claim(b.session())
	b.Withdraw(claim, b.now)
	b.Withdraw(claim, b.now)
	if changes, _ := b.changes(); len(changes) != 2 {
		t.Fatalf("not declared, and withdrawn once: %v", changes)
	}
	b.state(claim, held(7))
	if claim.State != nil || claim.IsEnded {
		t.Errorf("%v", claim.State)
	}
	b.state(claim, endedAs(tenurev1.EndReason_END_REASON_RELEASED))
	b.state(claim, held(7))
	b.hasEnded(claim, "")
}

func TestWithdrawnSessionEndsWithEverythingInIt(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	claim := b.hold(session, 7)
	b.Withdraw(session, b.now)
	b.Withdraw(claim, b.now)
	if b.change().GetWithdraw() != session.number {
		t.Error("not withdrawn as a whole")
	}
	b.isLost(session, Closed)
	b.isLost(claim, Closed)
	b.state(session, endedAs(tenurev1.EndReason_END_REASON_CLOSED))
	b.hasEnded(claim, "")
	b.hasEnded(session, "")
	b.pass(patience / 2)
	b.sendsNothing()
}

func TestHoldThatTheDatabaseLostEndsAtOnce(t *testing.T) {
	for _, state := range []func() *tenurev1.State{func() *tenurev1.State { return held(9) }, waiting} {
		b := connectedBench(t)
		session := b.session()
		claim := b.hold(session, 7)
		b.reconnect()
		b.hello()
		b.welcome()
		b.state(session, opened())
		b.state(claim, state())
		b.hasEnded(claim, Forgotten)
		b.isLost(claim, Forgotten)
		if b.change().GetWithdraw() != claim.number {
			t.Error("not withdrawn")
		}
		b.isValid(session)
	}
}

func TestUnknownStateIsIgnored(t *testing.T) {
	b := connectedBench(t)
	claim := b.hold(b.session(), 7)
	b.state(claim, &tenurev1.State{})
	b.isValid(claim)
}

func TestWithdrawnHoldIsReleasedUnlessItWasLostBefore(t *testing.T) {
	for reason := range tenurev1.EndReason_name {
		b := connectedBench(t)
		claim := b.hold(b.session(), 7)
		b.Withdraw(claim, b.now)
		b.state(claim, endedAs(tenurev1.EndReason(reason)))
		b.isLost(claim, Released)
		switch tenurev1.EndReason(reason) {
		case tenurev1.EndReason_END_REASON_EXPIRED, tenurev1.EndReason_END_REASON_DISCONNECTED,
			tenurev1.EndReason_END_REASON_EVICTED:
			b.hasEnded(claim, Ended)
		default:
			b.hasEnded(claim, "")
		}
	}
}

func TestWithdrawnHoldThatWaitsAgainIsNotReportedAsReleased(t *testing.T) {
	b := connectedBench(t)
	claim := b.hold(b.session(), 7)
	b.Withdraw(claim, b.now)
	b.state(claim, waiting())
	b.hasEnded(claim, Forgotten)
}

func TestReleasedHoldThatTheDatabaseLostIsNotReportedAsReleased(t *testing.T) {
	for lostRevision, end := range map[uint64]string{7: "", 8: Forgotten} {
		b := connectedBench(t)
		session := b.session()
		claim := b.hold(session, 7)
		b.Withdraw(claim, b.now)
		b.reconnect()
		b.receiveFrom(b.epoch, welcome(lostRevision))
		b.state(session, opened())
		b.state(claim, endedAs(tenurev1.EndReason_END_REASON_UNSPECIFIED))
		b.hasEnded(claim, end)
	}
}

func TestStatesOfAnEarlierStreamAreIgnored(t *testing.T) {
	b := connectedBench(t)
	claim := b.claim(b.session())
	before := b.epoch
	b.connect()
	b.receiveFrom(before, states(claim, held(7)))
	if claim.State != nil {
		t.Errorf("%v", claim.State)
	}
	if declared := b.hello().Declared; len(declared) != 1 || declared[0].Claims[0].Number != claim.number {
		t.Errorf("%v", declared)
	}
}
