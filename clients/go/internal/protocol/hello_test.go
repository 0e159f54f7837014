package protocol

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

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
	b.connect()
	session := b.open()
	b.sent()
	b.reconnect()
	first := b.hello()
	if len(first.Declared) != 1 {
		t.Fatalf("%v", first)
	}
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

func TestWhatWasNeverSentIsWithdrawnAtOnce(t *testing.T) {
	b := newBench(t)
	session := b.open()
	claim := b.claim(session)
	b.Withdraw(session, b.now)
	b.hasEnded(claim, "")
	b.hasEnded(session, "")
	b.isLost(claim, Closed)
	if !b.IsEmpty() {
		t.Error("there is still something in the table")
	}
	b.connect()
	if hello := b.hello(); len(hello.Known)+len(hello.Declared) > 0 {
		t.Fatalf("%v", hello)
	}
	b.sendsNothing()
}

func TestWhatIsDeclaredWithoutAStreamIsSentAfterTheHello(t *testing.T) {
	b := newBench(t)
	declaration := claims(nil)
	declaration.Open = &tenurev1.DeclaredSession{}
	session, claim := b.Declare(nil, declaration, b.now)
	late := b.claim(session)
	b.pass(time.Minute)
	b.connect()
	sent := b.sent()
	if hello := sent[0].GetHello(); len(hello.Known)+len(hello.Declared) > 0 {
		t.Fatalf("no server can have received it: %v", hello)
	}
	changes := sent[1].GetChanges().Changes
	first, second := changes[0].GetDeclare(), changes[1].GetDeclare()
	if first.Open == nil || first.Session != session.number || second.Open != nil || second.Session != session.number {
		t.Fatalf("%v", changes)
	}
	b.equal([]uint64{first.Claims[0].Number, second.Claims[0].Number}, numbers(claim, late))
	b.welcome()
	b.state(session, opened())
	b.renewed(session, b.now)
}

func TestHelloStatesNoMoreThanServersAccept(t *testing.T) {
	b := newBench(t)
	metadata := map[string]string{"label": strings.Repeat("l", 1000)}
	sessions := map[uint64]*Item{}
	for range 3000 {
		declaration := &tenurev1.Declaration{Open: &tenurev1.DeclaredSession{Metadata: metadata}}
		session, _ := b.Declare(nil, declaration, b.now)
		sessions[session.number] = session
	}
	b.connect()
	if declared := b.hello().Declared; len(declared) > 0 {
		t.Fatalf("no server can have received %d", len(declared))
	}
	streams := 0
	for opening := len(sessions); opening > 0; streams++ {
		b.reconnect()
		declared := b.hello().Declared
		if size := proto.Size(&tenurev1.Hello{Declared: declared}); size == 0 || size >= 1<<20 {
			t.Fatalf("%d bytes", size)
		}
		b.welcome()
		for _, one := range declared {
			b.state(sessions[one.Session], opened())
		}
		opening -= len(declared)
	}
	if streams != 4 {
		t.Errorf("%d streams", streams)
	}
}

func TestTenThousandClaimsAreDeclaredStatedAndEnded(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	metadata := map[string]string{"label": strings.Repeat("l", 4000)}
	var all []*Item
	for range 10_000 {
		_, claim := b.Declare(session, claims(metadata), b.now)
		all = append(all, claim)
	}
	for confirmed := 0; confirmed < len(all); {
		changes, number := b.changes()
		b.kept(number)
		if len(changes) == 0 {
			t.Fatal("the rest is never declared")
		}
		for _, change := range changes {
			claim := all[confirmed]
			b.equal([]uint64{change.GetDeclare().Claims[0].Number}, numbers(claim))
			b.state(claim, held(claim.number))
			confirmed++
		}
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
	sent := b.sent()
	hello, changes := sent[0].GetHello(), sent[1].GetChanges().GetChanges()
	if hello.ClientId != "other" || len(hello.Known)+len(hello.Declared) > 0 {
		t.Fatalf("%v", hello)
	}
	if len(changes) != 1 || changes[0].GetDeclare().Session != next.number {
		t.Fatalf("%v", changes)
	}
	if next.number <= claim.number {
		t.Error("a number is used twice")
	}
}
