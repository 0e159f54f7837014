package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// The most sessions that one keep-alive renews: the contract's bound.
	sessionsPerKeepAlive = 1000
	// Sessions whose renewal is due within this part of their period are renewed together with those that are due now.
	gatherDivisor = 4
	// A server that cannot attach a session for now is left after so many tries, if it serves no other session.
	attachTries = 3
)

// How a session stands to the stream.
type sessionStage int

const (
	// Not attached to it, and no answer to come that would.
	detachedStage sessionStage = iota
	// Asked to be attached.
	attachingStage
	// Attached: the stream's answers count.
	attachedStage
)

// An open session: attached to the stream, renewed, lost.
type live struct {
	presence *Presence
	needed   needed
	stage    sessionStage
	// How often it was asked to be attached, its opening included. Servers that are asked count by it, whatever reaches them when.
	attachment uint64
	// When the last renewal was sent.
	renewed clock.Moment
	// When the session was attached last.
	attached clock.Moment
	// When its phase is looked at next: the one timer for that which counts.
	look     clock.Moment
	refusals int
	backoff  backoff.Backoff
	claims   map[ClaimKey]*claim
	turns    turns
}

func (l *live) detach() {
	l.stage = detachedStage
	for _, claim := range l.claims {
		claim.command = 0
	}
}

// Whether its renewal is due, or will be within so many quarters of its period.
func (l *live) isDue(now clock.Moment, quarters int) bool {
	period := renewalPeriod(l.presence.window())
	return l.stage == attachedStage && l.renewed.After(period) <= now.After(period/gatherDivisor*time.Duration(quarters))
}

// A session was opened on the stream that there is.
func (e *Engine) beginSession(id string, presence *Presence, opening *opening, sent, now clock.Moment) {
	e.sessions[id] = &live{
		presence:   presence,
		needed:     needed{opened: now, bySession: opening.spec.Progress, byHolds: map[ClaimKey]*Progress{}},
		stage:      attachedStage,
		attachment: opening.attachment,
		renewed:    sent,
		attached:   now,
		look:       clock.Never,
		backoff:    newBackoff(),
		claims:     map[ClaimKey]*claim{},
		turns:      turns{},
	}
	e.renewAt(id, sent.After(renewalPeriod(presence.window())))
	e.lookAtChange(id, now)
}

func (e *Engine) attachAt(id string, at clock.Moment) {
	e.timers.set(at, func(now clock.Moment) { e.sendAttach(id, now) })
}

func (e *Engine) renewAt(id string, at clock.Moment) {
	e.timers.set(at, func(now clock.Moment) { e.renewIfDue(id, now) })
}

func (e *Engine) sendAttach(id string, now clock.Moment) {
	live := e.sessions[id]
	if live == nil || live.stage != detachedStage || e.stream == nil {
		return
	}
	if again, heldBack := live.heldBackUntil(now); heldBack {
		e.attachAt(id, again)
		return
	}
	live.attachment++
	live.stage = attachingStage
	request := &tenurev1.AttachSession{
		Namespace: e.namespace, SessionId: id, Attachment: live.attachment, ClientId: e.clientID,
	}
	command := &tenurev1.Command{Kind: &tenurev1.Command_AttachSession{AttachSession: request}}
	asked := e.send(command, now, func(answer *tenurev1.Answer, sent, now clock.Moment) {
		switch kind := answer.Kind.(type) {
		case *tenurev1.Answer_AttachedSession:
			e.attachedSession(id, kind.AttachedSession, sent, now)
		case *tenurev1.Answer_Refusal:
			e.attachRefused(id, refusal(kind.Refusal), now)
		default:
			e.misfit(answer)
		}
	})
	e.breakIfSilent(asked, renewalPeriod(live.presence.window()), now)
}

func (e *Engine) attachedSession(id string, answer *tenurev1.AttachedSession, sent, now clock.Moment) {
	live := e.sessions[id]
	if live == nil {
		return
	}
	session := answer.GetSession()
	ttl := live.presence.TTL()
	if session.GetTtl() != nil {
		ttl = session.Ttl.AsDuration()
	}
	live.presence.attached(ttl, session.GetDisconnectGrace().AsDuration(), sent, now)
	live.stage = attachedStage
	live.renewed, live.attached = sent, now
	live.refusals = 0
	live.backoff.Reset()
	e.renewAt(id, sent.After(renewalPeriod(live.presence.window())))
	if _, reason := live.presence.Check(now); reason != nil {
		e.checkPhase(id, now)
		return
	}
	// A grace that is new may end it earlier.
	e.lookAtChange(id, now)
	e.compareHolds(id, session.GetClaims(), answer.Revision, now)
	e.findTransfers(live, session.GetClaims(), now)
	e.giveStraysBack(id, session.GetClaims(), now)
	for _, key := range slices.Sorted(maps.Keys(live.claims)) {
		e.sendClaim(id, key, now)
	}
}

func (e *Engine) attachRefused(id string, refused *Refusal, now clock.Moment) {
	if e.endedByRefusal(id, refused, now) {
		return
	}
	e.isForNow(refused)
	live := e.sessions[id]
	if live == nil {
		return
	}
	live.stage = detachedStage
	live.attachment = max(live.attachment, refused.counted())
	live.refusals++
	// Whatever the reason: only the session's own deadline ends the trying.
	e.attachAt(id, now.After(live.backoff.Next()))
	if live.refusals%attachTries == 0 {
		e.leaveIfIdle()
	}
}

// The stream's answers do not count for the session any more: it has to be attached again.
func (e *Engine) moved(id string, now clock.Moment) {
	live := e.sessions[id]
	if live == nil || live.stage != attachedStage {
		return
	}
	live.detach()
	// At once, unless somebody else attaches it in turn: then not faster than it is renewed.
	period := renewalPeriod(live.presence.window())
	again := now
	if now.Since(live.attached) <= period {
		again = now.After(min(live.backoff.Next(), period))
	}
	e.attachAt(id, again)
}

func (e *Engine) renewIfDue(id string, now clock.Moment) {
	live := e.sessions[id]
	if live == nil || !live.isDue(now, 0) {
		return
	}
	if again, heldBack := live.heldBackUntil(now); heldBack {
		e.renewAt(id, again)
		return
	}
	var due []string
	for id, live := range e.sessions {
		if live.isDue(now, 1) && !live.isHeldBack(now) {
			due = append(due, id)
		}
	}
	slices.Sort(due)
	for batch := range slices.Chunk(due, sessionsPerKeepAlive) {
		e.sendKeepAlive(batch, now)
	}
}

func (e *Engine) sendKeepAlive(ids []string, now clock.Moment) {
	limit := time.Duration(0)
	for place, id := range ids {
		live := e.sessions[id]
		live.renewed = now
		window := live.presence.window()
		e.renewAt(id, now.After(renewalPeriod(window)))
		if place == 0 || silenceLimit(window) < limit {
			limit = silenceLimit(window)
		}
	}
	request := &tenurev1.KeepAliveRequest{Namespace: e.namespace, SessionIds: ids}
	command := &tenurev1.Command{Kind: &tenurev1.Command_KeepAlive{KeepAlive: request}}
	asked := e.send(command, now, func(answer *tenurev1.Answer, sent, now clock.Moment) {
		switch kind := answer.Kind.(type) {
		case *tenurev1.Answer_KeepAlive:
			for _, kept := range kind.KeepAlive.Sessions {
				e.kept(kept, sent, now)
			}
		case *tenurev1.Answer_Refusal:
			if refused := refusal(kind.Refusal); !e.isForNow(refused) {
				e.log.Warn("sessions were not renewed", "reason", refused.Reason)
			}
		default:
			e.misfit(answer)
		}
	})
	e.breakIfSilent(asked, limit, now)
}

func (e *Engine) kept(kept *tenurev1.KeptSession, sent, now clock.Moment) {
	id := kept.SessionId
	if kept.Refusal != nil || kept.Ttl == nil {
		refused := refusal(kept.Refusal)
		switch {
		case e.endedByRefusal(id, refused, now):
		case refused.Reason == "NOT_ATTACHED":
			e.moved(id, now)
		case !e.isForNow(refused):
			e.log.Warn("the session was not renewed", "session", id, "reason", refused.Reason)
		}
		return
	}
	live := e.sessions[id]
	// Attached since this was sent means that another answer counts.
	if live == nil || live.stage != attachedStage {
		return
	}
	before := live.presence.window()
	live.presence.renewed(kept.Ttl.AsDuration(), sent, now)
	if window := live.presence.window(); window < before {
		// Less than was reckoned with: so the next renewal is due earlier.
		e.renewAt(id, sent.After(renewalPeriod(window)))
	}
}

// Looks at the session's phase when it changes next, unless it is looked at before.
func (e *Engine) lookAtChange(id string, now clock.Moment) {
	live := e.sessions[id]
	if live == nil {
		return
	}
	change, some := live.presence.nextChange(now)
	if !some || change >= live.look {
		return
	}
	live.look = change
	e.timers.set(change, func(now clock.Moment) {
		if live := e.sessions[id]; live != nil && live.look <= now {
			live.look = clock.Never
			e.checkPhase(id, now)
			e.lookAtChange(id, now)
		}
	})
}

// Looks where the session stands, and tells it.
func (e *Engine) checkPhase(id string, now clock.Moment) {
	live := e.sessions[id]
	if live == nil {
		return
	}
	switch phase, reason := live.presence.Check(now); phase {
	case Over:
		e.log.Warn("the session is lost", "session", id, "reason", reason)
		until := now.After(live.presence.TTL())
		e.loseSession(id, reason, now)
		// The server may not have given anything away yet: so that others need not wait for that.
		e.beginClosing(id, until, 0, now)
	case AtRisk:
		e.log.Warn("the session is at risk", "session", id)
	case Healthy:
	}
}

// The server says that the session has ended.
func (e *Engine) sessionEnded(id string, reason *Lost, now clock.Moment) {
	if e.sessions[id] != nil {
		e.log.Warn("the session has ended", "session", id, "reason", reason)
		e.loseSession(id, reason, now)
	} else {
		e.closed(id, nil, now)
	}
}

// Whether a refusal says that the session is over; then it is.
func (e *Engine) endedByRefusal(id string, refused *Refusal, now clock.Moment) bool {
	switch refused.Reason {
	case "SESSION_ENDED":
		reason := lost(LostForgotten)
		if why, told := refused.Metadata["end_reason"]; told {
			reason = ended(why)
		}
		e.sessionEnded(id, reason, now)
	case "SESSION_NOT_FOUND":
		e.sessionEnded(id, lost(LostForgotten), now)
	case "SESSION_IN_USE":
		e.sessionEnded(id, lost(LostInUse), now)
	default:
		return false
	}
	return true
}

// Ends a session on this side, and all that it holds and waits for.
func (e *Engine) loseSession(id string, reason *Lost, now clock.Moment) {
	live := e.sessions[id]
	delete(e.sessions, id)
	live.presence.end(reason)
	for _, key := range slices.Sorted(maps.Keys(live.claims)) {
		claim := live.claims[key]
		e.clearTimers(claim)
		claim.lose(reason, now)
	}
	// Somebody may have asked for a new session of this id meanwhile.
	e.sendOpen(id, now)
}
