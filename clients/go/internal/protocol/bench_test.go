package protocol

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	ms         = time.Millisecond
	renewAfter = 400 * ms
	warnAfter  = 720 * ms
	validFor   = 1100 * ms
)

func at(milliseconds int) clock.Moment { return clock.Moment(time.Duration(milliseconds) * ms) }

// A client's protocol against a scripted server: the tests pass the time, and decide what arrives.
type bench struct {
	t *testing.T
	*Protocol
	now clock.Moment
}

// Not connected.
func newBench(t *testing.T) *bench {
	return &bench{t: t, Protocol: New("default", "client"), now: at(10_000)}
}

// Connected and welcomed.
func connectedBench(t *testing.T) *bench {
	b := newBench(t)
	b.connect()
	b.hello()
	b.welcome()
	return b
}

func (b *bench) connect() { b.Connected(b.now) }

func (b *bench) reconnect() {
	b.Disconnected(b.epoch)
	b.connect()
}

func (b *bench) pass(duration time.Duration) {
	b.t.Helper()
	until := b.now.After(duration)
	for next := b.NextTimeout(b.now); next <= until; next = b.NextTimeout(b.now) {
		b.now = max(b.now, next)
		b.HandleTimeout(b.now)
		if b.NextTimeout(b.now) <= b.now {
			b.t.Fatal("a timer is always due")
		}
	}
	b.now = until
}

func (b *bench) open() *Item {
	session, _ := b.Declare(nil, &tenurev1.Declaration{Open: &tenurev1.DeclaredSession{}}, b.now)
	return session
}

// An open session.
func (b *bench) session() *Item {
	b.t.Helper()
	session := b.open()
	b.state(session, opened())
	b.acknowledge()
	return session
}

func claims(metadata map[string]string) *tenurev1.Declaration {
	return &tenurev1.Declaration{Claims: []*tenurev1.DeclaredClaim{{Names: []string{"job"}, Metadata: metadata}}}
}

func (b *bench) claim(session *Item) *Item {
	_, claim := b.Declare(session, claims(nil), b.now)
	return claim
}

// A held claim.
func (b *bench) hold(session *Item, token uint64) *Item {
	b.t.Helper()
	claim := b.claim(session)
	b.state(claim, held(token))
	b.acknowledge()
	return claim
}

// All messages that are to be sent.
func (b *bench) sent() []*tenurev1.ConnectRequest {
	b.t.Helper()
	b.HandleTimeout(b.now)
	sent := b.TakeOutgoing(b.epoch)
	for _, request := range sent {
		if size := proto.Size(request); size >= 4<<20 {
			b.t.Fatalf("a message of %d bytes", size)
		}
	}
	return sent
}

// The Hello that is to be sent.
func (b *bench) hello() *tenurev1.Hello {
	b.t.Helper()
	sent := b.sent()
	if len(sent) == 0 || sent[0].GetHello() == nil {
		b.t.Fatalf("no Hello but %v", sent)
	}
	return sent[0].GetHello()
}

// The changes that are to be sent, and the number of the keep-alive among them; 0 without one.
func (b *bench) changes() (changes []*tenurev1.Change, keepAlive uint64) {
	b.t.Helper()
	for _, request := range b.sent() {
		switch kind := request.Kind.(type) {
		case *tenurev1.ConnectRequest_Changes:
			changes = append(changes, kind.Changes.Changes...)
		case *tenurev1.ConnectRequest_KeepAlive:
			keepAlive = kind.KeepAlive.Number
		}
	}
	return changes, keepAlive
}

// The only change that is to be sent.
func (b *bench) change() *tenurev1.Change {
	b.t.Helper()
	changes, _ := b.changes()
	if len(changes) != 1 {
		b.t.Fatalf("not one change but %v", changes)
	}
	return changes[0]
}

func (b *bench) sendsNothing() {
	b.t.Helper()
	if sent := b.sent(); len(sent) > 0 {
		b.t.Fatalf("sent %v", sent)
	}
}

// The keep-alive that is to be sent.
func (b *bench) keepAlive() uint64 {
	b.t.Helper()
	changes, number := b.changes()
	if len(changes) > 0 || number == 0 {
		b.t.Fatalf("no keep-alive alone: %v", changes)
	}
	return number
}

func (b *bench) receiveFrom(epoch uint64, response *tenurev1.ConnectResponse) {
	b.Receive(epoch, response, b.now)
}

func welcome(lostRevision uint64) *tenurev1.ConnectResponse {
	welcome := &tenurev1.Welcome{LostRevision: lostRevision}
	return &tenurev1.ConnectResponse{Kind: &tenurev1.ConnectResponse_Welcome{Welcome: welcome}}
}

func (b *bench) welcome() { b.receiveFrom(b.epoch, welcome(0)) }

func goingAway() *tenurev1.ConnectResponse {
	return &tenurev1.ConnectResponse{Kind: &tenurev1.ConnectResponse_GoingAway{}}
}

func kept(number uint64) *tenurev1.ConnectResponse {
	return &tenurev1.ConnectResponse{Kind: &tenurev1.ConnectResponse_KeptAlive{KeptAlive: &tenurev1.KeptAlive{Number: number}}}
}

func (b *bench) kept(number uint64) { b.receiveFrom(b.epoch, kept(number)) }

// Sends everything, and acknowledges the keep-alive in it.
func (b *bench) acknowledge() {
	b.t.Helper()
	if _, number := b.changes(); number != 0 {
		b.kept(number)
	}
}

func states(item *Item, state *tenurev1.State) *tenurev1.ConnectResponse {
	state.Number = item.number
	list := &tenurev1.States{States: []*tenurev1.State{state}}
	return &tenurev1.ConnectResponse{Kind: &tenurev1.ConnectResponse_States{States: list}}
}

func (b *bench) state(item *Item, state *tenurev1.State) { b.receiveFrom(b.epoch, states(item, state)) }

func openedFor(renewAfter, validFor time.Duration) *tenurev1.State {
	return &tenurev1.State{Kind: &tenurev1.State_Open{Open: &tenurev1.OpenState{
		SessionId: "a", RenewAfter: durationpb.New(renewAfter), WarnAfter: durationpb.New(warnAfter),
		ValidFor: durationpb.New(validFor),
	}}}
}

func opened() *tenurev1.State { return openedFor(renewAfter, validFor) }

func held(token uint64) *tenurev1.State {
	return &tenurev1.State{Kind: &tenurev1.State_Held{Held: &tenurev1.HeldState{Token: token}}}
}

func waiting() *tenurev1.State {
	return &tenurev1.State{Kind: &tenurev1.State_Waiting{Waiting: &tenurev1.WaitingState{}}}
}

func busy() *tenurev1.State {
	return &tenurev1.State{Kind: &tenurev1.State_Busy{Busy: &tenurev1.BusyState{}}}
}

func rejected(reason string) *tenurev1.State {
	return &tenurev1.State{Kind: &tenurev1.State_Rejected{Rejected: &tenurev1.Refusal{Reason: reason}}}
}

func endedAs(reason tenurev1.EndReason) *tenurev1.State {
	return &tenurev1.State{Kind: &tenurev1.State_Ended{Ended: &tenurev1.EndedState{Reason: reason}}}
}

func (b *bench) renewed(session *Item, at clock.Moment) {
	b.t.Helper()
	if session.Renewed != at {
		b.t.Fatalf("renewed at %v, not at %v", time.Duration(session.Renewed), time.Duration(at))
	}
}

// Has ended for this reason; empty: as withdrawn.
func (b *bench) hasEnded(item *Item, reason string) {
	b.t.Helper()
	end := ""
	if item.End != nil {
		end = item.End.Reason
	}
	if !item.IsEnded || end != reason {
		b.t.Fatalf("%d: ended %v as %q, not as %q", item.number, item.IsEnded, end, reason)
	}
}

func (b *bench) isLost(item *Item, reason string) {
	b.t.Helper()
	select {
	case <-item.Lost:
	default:
		b.t.Fatalf("%d is not lost", item.number)
	}
	if item.Loss.Reason != reason {
		b.t.Fatalf("%d is lost as %s, not as %s", item.number, item.Loss.Reason, reason)
	}
}

func (b *bench) isValid(items ...*Item) {
	b.t.Helper()
	for _, item := range items {
		if item.Loss != nil || item.IsEnded {
			b.t.Fatalf("%d is lost as %v", item.number, item.Loss)
		}
	}
}

func numbers(items ...*Item) []uint64 {
	var numbers []uint64
	for _, item := range items {
		numbers = append(numbers, item.number)
	}
	return numbers
}

func (b *bench) equal(got, want []uint64) {
	b.t.Helper()
	if !slices.Equal(got, want) {
		b.t.Fatalf("%v, not %v", got, want)
	}
}
