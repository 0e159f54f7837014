package engine

import (
	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// A session that is being closed, so that what it held need not wait for its TTL.
type closing struct {
	// From then on the server has ended it by itself.
	until   clock.Moment
	replies []Reply[None]
	command uint64
	backoff backoff.Backoff
	refusal *Refusal
}

func (c *closing) tell(err error) {
	for _, reply := range c.replies {
		reply <- Outcome[None]{Err: err}
	}
	c.replies = nil
}

// Close closes a session for somebody who waits for it. Its presence tells it apart from a later one of the same id.
func (e *Engine) Close(id string, presence *Presence, giveUp, now clock.Moment) Reply[None] {
	reply := newReply[None]()
	live := e.sessions[id]
	if live != nil && live.presence == presence {
		e.closeUnasked(id, now)
	}
	closing := e.closings[id]
	if closing == nil || live != nil && live.presence != presence {
		reply.tell(None{})
		return reply
	}
	closing.replies = append(closing.replies, reply)
	e.timers.set(giveUp, func(now clock.Moment) {
		if e.closings[id] == closing && len(closing.replies) > 0 {
			closing.tell(e.inVain(closing.refusal))
			e.forgetClosing(id, now)
		}
	})
	return reply
}

// CloseUnasked closes a session that nobody needs any more.
func (e *Engine) CloseUnasked(id string, presence *Presence, now clock.Moment) {
	if live := e.sessions[id]; live != nil && live.presence == presence {
		e.closeUnasked(id, now)
	}
}

func (e *Engine) closeUnasked(id string, now clock.Moment) {
	until := now.After(e.sessions[id].presence.TTL())
	e.loseSession(id, lost(LostClosed), now)
	e.beginClosing(id, until, 0, now)
}

// Says so once the answer to the command after is there, if one is under way.
func (e *Engine) beginClosing(id string, until clock.Moment, after uint64, now clock.Moment) {
	e.timers.set(until, func(now clock.Moment) { e.forgetClosing(id, now) })
	if closing := e.closings[id]; closing != nil {
		closing.until = max(closing.until, until)
		return
	}
	e.closings[id] = &closing{until: until, command: after, backoff: newBackoff()}
	e.sendClose(id, now)
}

func (e *Engine) sendClose(id string, now clock.Moment) {
	closing := e.closings[id]
	if closing == nil || closing.command != 0 {
		return
	}
	request := &tenurev1.CloseSessionRequest{Namespace: e.namespace, SessionId: id, ClientId: e.clientID}
	command := &tenurev1.Command{Kind: &tenurev1.Command_CloseSession{CloseSession: request}}
	closing.command = e.send(command, now, func(answer *tenurev1.Answer, _, now clock.Moment) {
		switch kind := answer.Kind.(type) {
		case *tenurev1.Answer_CloseSession:
			e.closed(id, nil, now)
		case *tenurev1.Answer_Refusal:
			e.closeRefused(id, refusal(kind.Refusal), now)
		default:
			e.misfit(answer)
		}
	})
}

// It is over: the server has ended the session, or refuses to.
func (e *Engine) closed(id string, err error, now clock.Moment) {
	if closing := e.closings[id]; closing != nil {
		delete(e.closings, id)
		closing.tell(err)
		e.sendOpen(id, now)
	}
}

func (e *Engine) closeRefused(id string, refused *Refusal, now clock.Moment) {
	forNow := e.isForNow(refused)
	closing := e.closings[id]
	if closing == nil {
		return
	}
	switch {
	case forNow:
		closing.command = 0
		closing.refusal = refused
		e.timers.set(now.After(closing.backoff.Next()), func(now clock.Moment) { e.sendClose(id, now) })
	case refused.Reason == "SESSION_ENDED" || refused.Reason == "SESSION_NOT_FOUND" ||
		refused.Reason == "SESSION_IN_USE":
		e.closed(id, nil, now)
	default:
		e.closed(id, refused, now)
	}
}

// The server has ended the session by itself, when its time is over. Who still waits for an answer is told by its own deadline.
func (e *Engine) forgetClosing(id string, now clock.Moment) {
	if closing := e.closings[id]; closing != nil && closing.until <= now && len(closing.replies) == 0 {
		e.closed(id, nil, now)
	}
}
