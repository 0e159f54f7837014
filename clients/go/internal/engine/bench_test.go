package engine

import (
	"log/slog"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	ttl         = 1200 * ms
	callTimeout = 5 * time.Second
)

// An engine against a scripted server, with the time passed in.
type bench struct {
	t      *testing.T
	engine *Engine
	now    clock.Moment
	keys   ClaimKey
}

// One that is connected.
func newBench(t *testing.T) *bench {
	b := &bench{t: t, engine: New("", "program-1", slog.New(slog.DiscardHandler)), now: at(1_000_000)}
	b.engine.Connected(b.now)
	return b
}

// Lets time pass, doing what is due when it is.
func (b *bench) pass(duration time.Duration) {
	until := b.now.After(duration)
	for next, some := b.engine.NextDeadline(); some && next <= until; next, some = b.engine.NextDeadline() {
		b.now = max(b.now, next)
		b.engine.Due(b.now)
	}
	b.now = until
}

func (b *bench) said() []*tenurev1.Command { return b.engine.TakeOutgoing(1 << 20) }

// The only thing said, which is of this kind.
func saidOnce[Kind any](b *bench) (uint64, Kind) {
	b.t.Helper()
	said := b.said()
	if len(said) != 1 {
		b.t.Fatalf("said %v", said)
	}
	kind, fits := any(said[0].Kind).(Kind)
	if !fits {
		b.t.Fatalf("said %v", said)
	}
	return said[0].Id, kind
}

func (b *bench) saidNothing(why string) {
	b.t.Helper()
	if said := b.said(); len(said) > 0 {
		b.t.Fatalf("%s: %v", why, said)
	}
}

func (b *bench) hear(answer *tenurev1.Answer, id uint64) {
	answer.Id = id
	b.engine.Received(&tenurev1.StreamResponse{Answers: []*tenurev1.Answer{answer}}, b.now)
}

func (b *bench) refuse(id uint64, reason string, facts ...string) {
	metadata := map[string]string{}
	for place := 0; place < len(facts); place += 2 {
		metadata[facts[place]] = facts[place+1]
	}
	b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_Refusal{
		Refusal: &tenurev1.Refusal{Reason: reason, Metadata: metadata},
	}}, id)
}

func (b *bench) reconnect() {
	b.engine.Disconnected("gone")
	b.engine.Connected(b.now)
}

// A session that is open.
func (b *bench) session(id string) *Presence { return b.sessionOf(id, OpenSpec{TTL: ttl}) }

func (b *bench) sessionOf(id string, spec OpenSpec) *Presence {
	b.t.Helper()
	reply := b.engine.Open(id, spec, b.now.After(callTimeout), b.now)
	command, _ := saidOnce[*tenurev1.Command_OpenSession](b)
	session := wireSession(id)
	if spec.DisconnectGrace > 0 {
		session.DisconnectGrace = durationpb.New(spec.DisconnectGrace)
	}
	b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_OpenSession{
		OpenSession: &tenurev1.OpenSessionResponse{Session: session},
	}}, command)
	return outcome(b, reply).Value.Presence
}

// Asks for the lock "job".
func (b *bench) acquire(id string, presence *Presence, wait Wait) (ClaimKey, Reply[Attempt]) {
	return b.acquireAs(id, presence, wait, ClaimSpec{Names: []string{"job"}})
}

func (b *bench) acquireAs(id string, presence *Presence, wait Wait, spec ClaimSpec) (ClaimKey, Reply[Attempt]) {
	b.keys++
	return b.keys, b.engine.Acquire(b.keys, id, presence, spec, wait, callTimeout, b.now)
}

var forever = Wait{Forever: true}

// Holds the lock "job".
func (b *bench) hold(id string, presence *Presence, token uint64) (ClaimKey, *Hold) {
	b.t.Helper()
	key, reply := b.acquire(id, presence, forever)
	command, _ := saidOnce[*tenurev1.Command_Acquire](b)
	b.hear(acquired(token), command)
	return key, outcome(b, reply).Value.Hold
}

// What has been told.
func outcome[T any](b *bench, reply Reply[T]) Outcome[T] {
	b.t.Helper()
	select {
	case outcome := <-reply:
		return outcome
	default:
		b.t.Fatal("nothing was told")
		panic("unreachable")
	}
}

func wireSession(id string, tokens ...uint64) *tenurev1.Session {
	session := &tenurev1.Session{Id: id, Ttl: durationpb.New(ttl)}
	for _, token := range tokens {
		session.Claims = append(session.Claims, &tenurev1.Claim{
			Names: []string{"job"}, Token: token, State: tenurev1.ClaimState_CLAIM_STATE_HELD,
		})
	}
	return session
}

func attached(id string, revision uint64, tokens ...uint64) *tenurev1.Answer {
	return &tenurev1.Answer{Kind: &tenurev1.Answer_AttachedSession{
		AttachedSession: &tenurev1.AttachedSession{Session: wireSession(id, tokens...), Revision: revision},
	}}
}

func acquired(token uint64) *tenurev1.Answer {
	return &tenurev1.Answer{Kind: &tenurev1.Answer_Acquire{
		Acquire: &tenurev1.AcquireResponse{Acquired: true, Token: token},
	}}
}

func kept(ids ...string) *tenurev1.Answer {
	answer := &tenurev1.KeepAliveResponse{}
	for _, id := range ids {
		answer.Sessions = append(answer.Sessions, &tenurev1.KeptSession{SessionId: id, Ttl: durationpb.New(ttl)})
	}
	return &tenurev1.Answer{Kind: &tenurev1.Answer_KeepAlive{KeepAlive: answer}}
}

func released() *tenurev1.Answer {
	return &tenurev1.Answer{Kind: &tenurev1.Answer_Release{Release: &tenurev1.ReleaseResponse{}}}
}
