package protocol

import "testing"

func TestServerThatIsGoingAwayIsLeft(t *testing.T) {
	b := connectedBench(t)
	b.receiveFrom(b.epoch, goingAway())
	if !b.IsLeft() {
		t.Error("not left")
	}
	b.reconnect()
	if b.IsLeft() {
		t.Error("the next server is left as well")
	}
}

func TestServerThatDoesNotAcknowledgeIsLeftInTime(t *testing.T) {
	b := connectedBench(t)
	b.session()
	b.pass(renewAfter + validFor/4 - ms)
	if b.IsLeft() {
		t.Error("left too early")
	}
	b.pass(ms)
	if !b.IsLeft() {
		t.Error("not left")
	}
}

func TestServerThatDoesNotWelcomeIsLeft(t *testing.T) {
	b := newBench(t)
	b.connect()
	b.pass(patience - ms)
	if b.IsLeft() {
		t.Error("left too early")
	}
	b.pass(ms)
	if !b.IsLeft() {
		t.Error("not left")
	}
}

func TestChangeShowsWhetherTheServerIsThere(t *testing.T) {
	for _, isThere := range []bool{true, false} {
		b := connectedBench(t)
		b.open()
		changes, number := b.changes()
		if len(changes) != 1 || number == 0 {
			t.Fatalf("no keep-alive with %v", changes)
		}
		if isThere {
			b.kept(number)
		}
		b.pass(patience)
		if b.IsLeft() == isThere {
			t.Errorf("left: %v", b.IsLeft())
		}
	}
}

func TestRejectionByADrainingServerMakesTheClientLeave(t *testing.T) {
	for _, test := range []struct {
		reason     string
		hasSession bool
		isLeft     bool
	}{
		{"DRAINING", true, true}, {"LEASE_LOST", true, true}, {"STORE_UNAVAILABLE", true, false}, {"LIMIT_REACHED", true, false},
		{"STORE_UNAVAILABLE", false, true}, {"OUTCOME_UNKNOWN", false, true}, {"LIMIT_REACHED", false, false},
	} {
		b := connectedBench(t)
		rejectedItem := b.open()
		if test.hasSession {
			rejectedItem = b.claim(b.session())
		}
		b.state(rejectedItem, rejected(test.reason))
		if b.IsLeft() != test.isLeft {
			t.Errorf("%+v: %v", test, b.IsLeft())
		}
	}
}
