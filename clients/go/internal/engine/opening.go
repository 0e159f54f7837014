package engine

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// A server that takes so long to open a session is left, if it serves no other session ...
	openPatience = 1500 * time.Millisecond
	// ... as is one that refuses for now so many times.
	openTries = 3
)

// OpenSpec is which session to open.
type OpenSpec struct {
	TTL time.Duration
	// Zero: none.
	DisconnectGrace time.Duration
	Owner           string
	Metadata        map[string]string
	Progress        *Progress
}

// Opened is an open session.
type Opened struct {
	Presence *Presence
	Owner    string
}

// A session that is being opened.
type opening struct {
	spec    OpenSpec
	reply   Reply[Opened]
	command uint64
	// How often the session was asked to be attached.
	attachment uint64
	backoff    backoff.Backoff
	refusals   int
	refusal    *Refusal
}

// Open opens a session of this id.
func (e *Engine) Open(id string, spec OpenSpec, giveUp, now clock.Moment) Reply[Opened] {
	reply := newReply[Opened]()
	_, isOpening := e.openings[id]
	_, isOpen := e.sessions[id]
	switch {
	case e.shutDown != nil:
		reply.fail(ErrClosed)
	case isOpening || isOpen:
		reply.fail(&Invalid{Field: "id", Problem: fmt.Sprintf("this client has a session %q already", id)})
	default:
		opening := &opening{spec: spec, reply: reply, backoff: newBackoff()}
		e.openings[id] = opening
		e.timers.set(giveUp, func(now clock.Moment) {
			if e.openings[id] == opening {
				e.abandonOpening(id, e.inVain(opening.refusal), now)
			}
		})
		e.sendOpen(id, now)
	}
	return reply
}

// CancelOpen tells that nobody waits for the session any more.
func (e *Engine) CancelOpen(id string, reply Reply[Opened], now clock.Moment) {
	if opening := e.openings[id]; opening != nil && opening.reply == reply {
		e.abandonOpening(id, ErrClosed, now)
	}
	select {
	case outcome := <-reply:
		if outcome.Err == nil {
			e.CloseUnasked(id, outcome.Value.Presence, now)
		}
	default:
	}
}

func (e *Engine) sendOpen(id string, now clock.Moment) {
	opening := e.openings[id]
	// A session of the same id that is still being closed goes first; its end asks again.
	if _, isClosing := e.closings[id]; isClosing || opening == nil || opening.command != 0 || e.stream == nil {
		return
	}
	opening.attachment++
	request := &tenurev1.OpenSessionRequest{
		Namespace: e.namespace, SessionId: id, Ttl: durationpb.New(opening.spec.TTL), Owner: opening.spec.Owner,
		Metadata: opening.spec.Metadata, Attachment: opening.attachment, ClientId: e.clientID,
	}
	if opening.spec.DisconnectGrace > 0 {
		request.DisconnectGrace = durationpb.New(opening.spec.DisconnectGrace)
	}
	command := &tenurev1.Command{Kind: &tenurev1.Command_OpenSession{OpenSession: request}}
	opening.command = e.send(command, now, func(answer *tenurev1.Answer, sent, now clock.Moment) {
		if closing := e.closings[id]; closing != nil && closing.command == answer.Id {
			// It was given up meanwhile, and is closed now that no command to open it is under way.
			closing.command = 0
			e.sendClose(id, now)
			return
		}
		switch kind := answer.Kind.(type) {
		case *tenurev1.Answer_OpenSession:
			e.opened(id, kind.OpenSession.GetSession(), sent, now)
		case *tenurev1.Answer_Refusal:
			e.openRefused(id, refusal(kind.Refusal), now)
		default:
			e.misfit(answer)
		}
	})
	asked := opening.command
	e.timers.set(now.After(openPatience), func(clock.Moment) {
		if e.isUnanswered(asked) {
			e.leaveIfIdle()
		}
	})
}

func (e *Engine) opened(id string, session *tenurev1.Session, sent, now clock.Moment) {
	opening := e.openings[id]
	if opening == nil {
		return
	}
	ttl := opening.spec.TTL
	if session.GetTtl() != nil {
		ttl = session.Ttl.AsDuration()
	}
	presence := NewPresence(ttl, session.GetDisconnectGrace().AsDuration(), sent)
	opening.command = 0
	if _, reason := presence.Check(now); reason != nil {
		e.abandonOpening(id, reason, now)
		return
	}
	delete(e.openings, id)
	e.beginSession(id, presence, opening, sent, now)
	opening.reply.tell(Opened{Presence: presence, Owner: session.GetOwner()})
}

func (e *Engine) openRefused(id string, refused *Refusal, now clock.Moment) {
	forNow := e.isForNow(refused)
	opening := e.openings[id]
	if opening == nil {
		return
	}
	opening.command = 0
	switch counted := refused.counted(); {
	case counted > 0:
		opening.attachment = max(opening.attachment, counted)
		e.sendOpen(id, now)
	case forNow:
		opening.refusal = refused
		opening.refusals++
		e.timers.set(now.After(opening.backoff.Next()), func(now clock.Moment) { e.sendOpen(id, now) })
		if opening.refusals%openTries == 0 {
			e.leaveIfIdle()
		}
	default:
		delete(e.openings, id)
		opening.reply.fail(refused)
	}
}

// Stops opening a session, which may be open all the same if it was asked for: so it is closed, after the command to open it.
func (e *Engine) abandonOpening(id string, why error, now clock.Moment) {
	opening := e.openings[id]
	delete(e.openings, id)
	opening.reply.fail(why)
	if opening.attachment == 0 {
		return
	}
	e.beginClosing(id, now.After(opening.spec.TTL), opening.command, now)
}
