package protocol

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func TestSessionIsValidFromTheDeclarationAndThenFromEachKeepAlive(t *testing.T) {
	b := connectedBench(t)
	session := b.open()
	b.acknowledge()
	b.pass(100 * ms)
	b.state(session, opened())
	b.renewed(session, at(10_000))
	if session.Until() != at(11_100) || session.AtRiskFrom() != at(10_720) {
		t.Errorf("%v %v", session.Until(), session.AtRiskFrom())
	}
	b.pass(299 * ms)
	b.sendsNothing()
	b.pass(ms)
	number := b.keepAlive()
	b.pass(100 * ms)
	b.kept(number)
	b.renewed(session, at(10_400))
	b.pass(300 * ms)
	b.keepAlive()
}

func TestKeepAlivesFollowTheSessionThatNeedsThemFirst(t *testing.T) {
	b := connectedBench(t)
	slow := b.open()
	b.state(slow, openedFor(10*time.Second, 30*time.Second))
	b.acknowledge()
	b.pass(time.Second)
	fast := b.open()
	b.state(fast, openedFor(time.Second, 30*time.Second))
	b.acknowledge()
	b.pass(time.Second)
	b.kept(b.keepAlive())
	b.state(fast, endedAs(tenurev1.EndReason_END_REASON_CLOSED))
	// Planned for the one that has ended.
	b.pass(time.Second)
	b.kept(b.keepAlive())
	b.pass(10*time.Second - ms)
	b.sendsNothing()
	b.pass(ms)
	b.keepAlive()
}

func TestSessionThatIsNotRenewedIsLost(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	claim := b.hold(session, 7)
	b.pass(validFor - ms)
	b.isValid(session, claim)
	b.sent()
	b.pass(ms)
	b.isLost(session, Unrenewed)
	b.isLost(claim, Unrenewed)
	if b.change().GetWithdraw() != session.number {
		t.Error("not withdrawn")
	}
	b.reconnect()
	if hello := b.hello(); len(hello.Known) > 0 {
		t.Errorf("the server is to end it: %v", hello)
	}
}

func TestProcessSuspendedBeyondTheValidityLosesItsSessionsWhateverHasArrived(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	b.pass(renewAfter)
	number := b.keepAlive()
	b.now = b.now.After(700 * ms)
	b.kept(number)
	b.isLost(session, Unrenewed)
	b.state(session, opened())
	b.isLost(session, Unrenewed)
	if b.change().GetWithdraw() != session.number {
		t.Error("not withdrawn")
	}
}

func TestSessionThatIsSeenToBeLostIsNotRenewed(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	b.pass(renewAfter)
	number := b.keepAlive()
	// A handle looks, when the acknowledgement has not been processed yet.
	b.Expire(at(11_100))
	b.isLost(session, Unrenewed)
	b.kept(number)
	b.isLost(session, Unrenewed)
}

func TestSessionWhoseStateArrivesTooLateIsLost(t *testing.T) {
	b := connectedBench(t)
	session := b.open()
	b.now = b.now.After(validFor)
	b.state(session, opened())
	b.isLost(session, Unrenewed)
}

func TestHelloRenewsOnceTheSessionIsReported(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	b.pass(300 * ms)
	b.reconnect()
	b.hello()
	b.pass(100 * ms)
	b.welcome()
	b.renewed(session, at(10_000))
	b.pass(300 * ms)
	b.kept(b.keepAlive())
	// It may have ended.
	b.renewed(session, at(10_000))
	b.state(session, opened())
	b.renewed(session, at(10_300))
}

func TestKeepAliveAcknowledgedOnAnEarlierStreamDoesNotCount(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	b.pass(renewAfter)
	number, before := b.keepAlive(), b.epoch
	b.pass(50 * ms)
	b.connect()
	b.receiveFrom(before, kept(number))
	b.welcome()
	b.renewed(session, at(10_000))
	b.state(session, opened())
	b.renewed(session, at(10_450))
}

func TestRenewalOnRequestIsSentAtOnce(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	b.pass(100 * ms)
	changed := session.Changed
	b.Renew(b.now)
	b.HandleTimeout(b.now)
	b.kept(b.keepAlive())
	b.renewed(session, at(10_100))
	select {
	case <-changed:
	default:
		t.Error("no waiter is woken")
	}
}

// A session that is renewed only while there are ticks.
func (b *bench) watched(stallAfter time.Duration) *Item {
	b.t.Helper()
	session := b.open()
	b.Need(session, stallAfter)
	b.state(session, opened())
	b.acknowledge()
	return session
}

func TestSessionWithoutProgressAgesAndIsRenewedAgain(t *testing.T) {
	b := connectedBench(t)
	session := b.watched(300 * ms)
	b.pass(renewAfter)
	if b.change().GetPause() != session.number || b.NextTimeout(b.now) > b.now.After(lookForProgress) {
		t.Fatal("not paused")
	}
	b.reconnect()
	hello := b.hello()
	b.equal(hello.Known, numbers(session))
	b.equal(hello.Paused, numbers(session))
	b.welcome()
	b.state(session, opened())
	b.renewed(session, at(10_000))
	b.pass(100 * ms)
	session.Tick(b.now)
	b.pass(lookForProgress)
	changes, number := b.changes()
	if len(changes) != 1 || changes[0].GetResume() != session.number || number == 0 {
		t.Fatalf("%v", changes)
	}
	resumed := b.now
	b.kept(number)
	b.renewed(session, resumed)
}

func TestKeepAliveSentBeforeAPauseRenews(t *testing.T) {
	b := connectedBench(t)
	session := b.watched(500 * ms)
	b.pass(renewAfter)
	number := b.keepAlive()
	b.pass(100 * ms)
	b.HandleTimeout(b.now)
	if b.change().GetPause() != session.number {
		t.Fatal("not paused")
	}
	b.kept(number)
	b.renewed(session, at(10_400))
}

func TestKeepAliveSentDuringAPauseDoesNotRenew(t *testing.T) {
	b := connectedBench(t)
	session := b.watched(300 * ms)
	b.pass(renewAfter)
	b.acknowledge()
	b.open()
	_, number := b.changes()
	session.Tick(b.now)
	b.pass(lookForProgress)
	if b.change().GetResume() != session.number || number == 0 {
		t.Fatal("not resumed after a keep-alive")
	}
	b.kept(number)
	b.renewed(session, at(10_000))
}

func TestSessionWithoutProgressIsLostAsStalled(t *testing.T) {
	b := connectedBench(t)
	session := b.watched(300 * ms)
	b.pass(validFor)
	b.isLost(session, Stalled)
}

func TestProgressIsDueFromTheGrantOnUntilTheRelease(t *testing.T) {
	b := connectedBench(t)
	session := b.session()
	claim := b.claim(session)
	b.Need(claim, 500*ms)
	b.state(claim, waiting())
	b.acknowledge()
	for range 5 {
		b.pass(renewAfter)
		b.kept(b.keepAlive())
	}
	b.state(claim, held(7))
	b.pass(renewAfter)
	b.kept(b.keepAlive())
	b.pass(renewAfter)
	if b.change().GetPause() != session.number {
		t.Fatal("not paused")
	}
	b.Withdraw(claim, b.now)
	b.pass(lookForProgress)
	changes, _ := b.changes()
	if len(changes) != 2 || changes[1].GetResume() != session.number {
		t.Fatalf("%v", changes)
	}
}

// A server that ends a session as early as it may: its clock runs as fast as clocks may.
type serverSession struct {
	ttl              time.Duration
	renewed          clock.Moment
	isOpen, isPaused bool
}

func (s *serverSession) isOver(now clock.Moment) bool {
	return !s.isOpen || now >= s.renewed.After(s.ttl*100/101)
}

// Whatever arrives when, what is called valid has not ended at the server.
func TestSessionIsNeverValidAfterTheServerMayHaveEndedIt(t *testing.T) {
	for range 2000 {
		seed := rand.Uint64()
		if !t.Run("", func(t *testing.T) { simulate(t, seed) }) {
			t.Fatalf("seed %d", seed)
		}
	}
}

func simulate(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	b := newBench(t)
	session := b.open()
	b.Need(session, 2*time.Second)
	b.connect()
	server := &serverSession{ttl: 1200 * ms}
	wasOpened := false
	var toServer []*tenurev1.ConnectRequest
	var toClient []*tenurev1.ConnectResponse
	for range 200 {
		switch step := random.IntN(18); {
		case step < 4:
			b.pass(time.Duration(random.IntN(400)) * ms)
		case step < 10:
			for _, request := range toServer {
				toClient = append(toClient, server.handle(b, session, request, &wasOpened)...)
			}
			toServer = nil
		case step < 16:
			if len(toClient) > 0 {
				b.receiveFrom(b.epoch, toClient[0])
				toClient = toClient[1:]
			}
		case step < 17:
			toServer, toClient = nil, nil
			b.reconnect()
		default:
			session.Tick(b.now)
		}
		toServer = append(toServer, b.sent()...)
		b.Expire(b.now)
		if session.Loss != nil {
			return
		}
		if session.State != nil && server.isOver(b.now) {
			t.Fatalf("valid until %v at %v, renewed at %v", session.Until(), b.now, server.renewed)
		}
	}
}

func (s *serverSession) handle(
	b *bench, session *Item, request *tenurev1.ConnectRequest, wasOpened *bool,
) []*tenurev1.ConnectResponse {
	s.isOpen = !s.isOver(b.now)
	renew := func() {
		if !s.isPaused {
			s.renewed = b.now
		}
	}
	switch kind := request.Kind.(type) {
	case *tenurev1.ConnectRequest_Hello:
		if len(kind.Hello.Declared) > 0 && !*wasOpened {
			s.isOpen, *wasOpened = true, true
		}
		s.isPaused = len(kind.Hello.Paused) > 0
		renew()
		state := opened()
		if !s.isOpen {
			state = endedAs(tenurev1.EndReason_END_REASON_EXPIRED)
		}
		return []*tenurev1.ConnectResponse{welcome(0), states(session, state)}
	case *tenurev1.ConnectRequest_KeepAlive:
		renew()
		return []*tenurev1.ConnectResponse{kept(kind.KeepAlive.Number)}
	case *tenurev1.ConnectRequest_Changes:
		var replies []*tenurev1.ConnectResponse
		for _, change := range kind.Changes.Changes {
			switch {
			case change.GetDeclare() != nil && !*wasOpened:
				s.isOpen, *wasOpened = true, true
				renew()
				replies = append(replies, states(session, opened()))
			case change.GetPause() != 0:
				s.isPaused = true
			case change.GetResume() != 0:
				s.isPaused = false
				renew()
			case change.GetWithdraw() != 0:
				s.isOpen = false
			}
		}
		return replies
	}
	return nil
}
