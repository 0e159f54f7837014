package protocol

import (
	"strings"
	"testing"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func TestHelloStatesTheKnownAndTheDeclaredInOrder(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	claim := b.hold(session, 7)
	late, alone := b.claim(session), b.open()
	declaration := claims(nil)
	declaration.Open = &tenurev1.DeclaredSession{}
	both, part := b.Declare(nil, declaration, b.now)
	b.reconnect()
	hello := b.hello()
	if hello.ClientId != "client" || hello.Epoch != 2 || hello.Namespace != "default" || len(hello.Declared) != 3 {
		t.Fatalf("%v", hello)
	}
	b.equal(hello.Known, numbers(session, claim))
	b.equal(hello.Paused, nil)
	for index, want := range []struct {
		session *Item
		opens   bool
		claims  []uint64
	}{{session, false, numbers(late)}, {alone, true, nil}, {both, true, numbers(part)}} {
		declared := hello.Declared[index]
		var claims []uint64
		for _, claim := range declared.Claims {
			claims = append(claims, claim.Number)
		}
		if declared.Session != want.session.number || (declared.Open != nil) != want.opens {
			t.Errorf("%d: %v", index, declared)
		}
		b.equal(claims, want.claims)
	}
}

func TestSessionThatIsKnownIsNotDeclaredAgainWithItsClaim(t *testing.T) {
	b := connectedBench(t)
	declaration := claims(nil)
	declaration.Open = &tenurev1.DeclaredSession{}
	session, claim := b.Declare(nil, declaration, b.now)
	b.state(session, opened())
	b.reconnect()
	hello := b.hello()
	b.equal(hello.Known, numbers(session))
	if len(hello.Declared) != 1 || hello.Declared[0].Open != nil || hello.Declared[0].Claims[0].Number != claim.number {
		t.Errorf("%v", hello)
	}
}

func TestLostHelloIsRepeatedWithAHigherEpoch(t *testing.T) {
	b := newBench(t)
	session := b.open()
	b.connect()
	first := b.hello()
	b.pass(300 * ms)
	b.reconnect()
	second := b.hello()
	if second.Epoch != first.Epoch+1 || len(second.Declared) != 1 || second.Declared[0].Session != session.number {
		t.Fatalf("%v", second)
	}
	b.pass(50 * ms)
	b.welcome()
	b.state(session, opened())
	b.renewed(session, at(10_300))
}

func TestChangesInFlightWhenTheStreamBreaksAreStatedAgain(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	kept, dropped := b.hold(session, 7), b.hold(session, 8)
	lost, cancelled := b.claim(session), b.claim(session)
	b.Withdraw(dropped, b.now)
	b.Withdraw(cancelled, b.now)
	if changes, _ := b.changes(); len(changes) != 4 {
		t.Fatalf("%v", changes)
	}
	b.reconnect()
	sent := b.sent()
	hello := sent[0].GetHello()
	// So that the reason of its end is reported.
	b.equal(hello.Known, numbers(session, kept, dropped))
	if len(hello.Declared) != 1 || hello.Declared[0].Claims[0].Number != lost.number {
		t.Fatalf("%v", hello)
	}
	if changes := sent[1].GetChanges().Changes; len(changes) != 1 || changes[0].GetWithdraw() != dropped.number {
		t.Fatalf("%v", changes)
	}
	b.welcome()
	b.hasEnded(cancelled, "")
	b.state(dropped, endedAs(tenurev1.EndReason_END_REASON_EVICTED))
	b.hasEnded(dropped, Ended)
	b.isLost(dropped, Released)
	b.isValid(session, kept, lost)
}

func TestSessionThatIsClosedWhenTheStreamBreaksIsClosedAgainWithAllInIt(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	claim := b.hold(session, 7)
	b.Withdraw(session, b.now)
	b.sent()
	b.reconnect()
	sent := b.sent()
	b.equal(sent[0].GetHello().Known, numbers(session, claim))
	if changes := sent[1].GetChanges().Changes; len(changes) != 1 || changes[0].GetWithdraw() != session.number {
		t.Fatalf("%v", changes)
	}
}

func TestWithdrawalAfterTheHelloIsConfirmedByItsState(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	claim := b.hold(session, 7)
	b.reconnect()
	b.equal(b.hello().Known, numbers(session, claim))
	b.Withdraw(claim, b.now)
	b.welcome()
	b.state(claim, held(7))
	if b.change().GetWithdraw() != claim.number || claim.IsEnded {
		t.Fatal("not withdrawn once")
	}
	b.state(claim, endedAs(tenurev1.EndReason_END_REASON_RELEASED))
	b.hasEnded(claim, "")
}

func TestWhatIsWithdrawnBeforeTheFirstStreamIsNotStated(t *testing.T) {
	b := newBench(t)
	session := b.open()
	claim := b.claim(session)
	b.Withdraw(session, b.now)
	b.connect()
	if hello := b.hello(); len(hello.Known)+len(hello.Declared) > 0 {
		t.Fatalf("%v", hello)
	}
	b.welcome()
	b.hasEnded(claim, "")
	b.hasEnded(session, "")
	if !b.IsEmpty() {
		t.Error("there is still something in the table")
	}
}

func TestTenThousandClaimsAreStatedWithinBoundsAndConfirmed(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	metadata := map[string]string{"label": strings.Repeat("l", 4000)}
	var all []*Item
	for range 10_000 {
		_, claim := b.Declare(session, claims(metadata), b.now)
		all = append(all, claim)
	}
	b.sent()
	b.reconnect()
	sent := b.sent()
	hello := sent[0].GetHello()
	var stated []uint64
	for _, declared := range hello.Declared {
		stated = append(stated, declared.Claims[0].Number)
	}
	for _, request := range sent[1:] {
		for _, change := range request.GetChanges().GetChanges() {
			stated = append(stated, change.GetDeclare().Claims[0].Number)
		}
	}
	b.equal(stated, numbers(all...))
	b.welcome()
	for _, claim := range all {
		b.state(claim, held(claim.number))
	}
	b.isValid(all...)
	b.reconnect()
	if known := b.hello().Known; len(known) != 1+len(all) {
		t.Fatalf("%d", len(known))
	}
	for _, claim := range all {
		b.state(claim, endedAs(tenurev1.EndReason_END_REASON_EVICTED))
	}
	b.reconnect()
	b.equal(b.hello().Known, numbers(session))
}

func TestSupersededClientLosesEverythingAndTakesANewID(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	claim := b.hold(session, 7)
	b.reconnect()
	// That was this client's own doing.
	b.Superseded(b.epoch-1, "other")
	b.isValid(session, claim)
	b.Superseded(b.epoch, "other")
	b.isLost(session, InUse)
	b.isLost(claim, InUse)
	next := b.open()
	b.connect()
	hello := b.hello()
	if hello.ClientId != "other" || len(hello.Known) > 0 || hello.Declared[0].Session != next.number {
		t.Fatalf("%v", hello)
	}
	if next.number <= claim.number {
		t.Error("a number is used twice")
	}
}
