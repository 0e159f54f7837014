package engine

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// ClaimSpec is which locks to ask for, and how. The server checks the bounds.
type ClaimSpec struct {
	// In byte order.
	Names          []string
	Mode           tenurev1.Mode
	Permits, Limit uint32
	Priority       int32
	Metadata       map[string]string
	MinHold        time.Duration
	// Zero: renewed while the client runs.
	StallAfter time.Duration
}

// Wait is how long to wait for locks.
type Wait struct {
	Forever bool
	// Zero: try once.
	AtMost time.Duration
}

// Attempt is what came of an acquire: a hold, or else who is in the way if that is known.
type Attempt struct {
	Hold   *Hold
	Holder *tenurev1.Claim
}

// Where a claim stands.
type claimStage int

const (
	// Waits for its turn among the claims of this session.
	queuedStage claimStage = iota
	// The server is asked.
	askingStage
	// Granted.
	heldStage
	// The server is asked to take it back.
	releasingStage
	// Nobody wants it any more, but the server is still asked for it: it was asked to answer that at once.
	stoppingStage
	// Nobody wants it any more: the server is asked to forget it, whether it waits or was granted.
	withdrawingStage
)

// One claim.
type claim struct {
	spec    ClaimSpec
	stage   claimStage
	command uint64
	backoff backoff.Backoff
	refusal *Refusal
	// A notice about these locks that may have overtaken the answer that they are granted.
	early func(now clock.Moment)
	// Who waits for it, while it is queued or asked for.
	reply     Reply[Attempt]
	waits     bool
	waitUntil clock.Moment
	// While it is held, and is given back.
	hold *Hold
	// Who waits for the release, if somebody does.
	released Reply[None]
	timers   []*timer
}

// The session is lost.
func (c *claim) lose(reason *Lost, now clock.Moment) {
	switch c.stage {
	case queuedStage, askingStage:
		c.reply.fail(reason)
	case heldStage:
		c.hold.End(reason, now)
	case releasingStage:
		if c.released != nil {
			c.released.fail(reason)
		}
	case stoppingStage, withdrawingStage:
	}
}

func (c *claim) describe(sessionID string) *tenurev1.Claim {
	claim := &tenurev1.Claim{
		Names: c.spec.Names, State: tenurev1.ClaimState_CLAIM_STATE_WAITING, SessionId: sessionID, Metadata: c.spec.Metadata,
		Priority: c.spec.Priority, MinHold: durationpb.New(c.spec.MinHold), Mode: c.spec.Mode, Permits: c.spec.Permits,
		Limit: c.spec.Limit,
	}
	if c.hold != nil {
		claim.State, claim.Token = tenurev1.ClaimState_CLAIM_STATE_HELD, c.hold.Token
	}
	return claim
}

// Acquire asks for locks in an open session. What was asked first is the moment from which the wait counts.
func (e *Engine) Acquire(
	key ClaimKey, id string, presence *Presence, spec ClaimSpec, wait Wait, callTimeout time.Duration, now clock.Moment,
) Reply[Attempt] {
	reply := newReply[Attempt]()
	live := e.sessions[id]
	if live == nil || live.presence != presence {
		_, reason := presence.Check(now)
		if reason == nil {
			reason = lost(LostForgotten)
		}
		reply.fail(reason)
		return reply
	}
	tries := !wait.Forever && wait.AtMost <= 0
	if first, busy := live.turns.firstInWay(spec.Names); tries && busy {
		reply.tell(Attempt{Holder: live.claims[first].describe(id)})
		return reply
	}
	claim := &claim{spec: spec, stage: queuedStage, backoff: newBackoff(), reply: reply, waits: wait.Forever}
	if !wait.Forever {
		claim.waitUntil = now.After(max(0, wait.AtMost))
		e.claimTimer(claim, claim.waitUntil.After(callTimeout), func(now clock.Moment) { e.giveUpAsking(id, key, now) })
		if !tries {
			e.claimTimer(claim, claim.waitUntil, func(now clock.Moment) { e.giveUpQueueing(id, key, now) })
		}
	}
	live.claims[key] = claim
	if live.turns.join(key, spec.Names) {
		claim.stage = askingStage
		e.sendClaim(id, key, now)
	}
	return reply
}

func (e *Engine) claimTimer(claim *claim, at clock.Moment, do func(now clock.Moment)) {
	claim.timers = append(claim.timers, e.timers.set(at, do))
}

func (e *Engine) clearTimers(claim *claim) {
	for _, timer := range claim.timers {
		e.timers.clear(timer)
	}
	claim.timers = nil
}

func (e *Engine) find(id string, key ClaimKey) (*live, *claim) {
	live := e.sessions[id]
	if live == nil {
		return nil, nil
	}
	return live, live.claims[key]
}

func (e *Engine) sendClaimAt(id string, key ClaimKey, at clock.Moment) {
	e.timers.set(at, func(now clock.Moment) { e.sendClaim(id, key, now) })
}

// Says what the claim needs, if it needs anything and no answer is under way.
func (e *Engine) sendClaim(id string, key ClaimKey, now clock.Moment) {
	live, claim := e.find(id, key)
	if claim == nil || live.stage != attachedStage || e.stream == nil || claim.command != 0 {
		return
	}
	command := &tenurev1.Command{}
	switch claim.stage {
	case queuedStage, heldStage:
		return
	case askingStage:
		if again, heldBack := live.heldBackUntil(now); heldBack {
			e.sendClaimAt(id, key, again)
			return
		}
		command.Kind = &tenurev1.Command_Acquire{Acquire: e.acquireRequest(id, claim, now)}
	case releasingStage:
		command.Kind = &tenurev1.Command_Release{Release: &tenurev1.ReleaseRequest{
			Namespace: e.namespace, Name: claim.spec.Names[0], SessionId: id, Token: claim.hold.Token,
		}}
	case stoppingStage, withdrawingStage:
		claim.stage = withdrawingStage
		command.Kind = &tenurev1.Command_CancelAcquire{CancelAcquire: &tenurev1.CancelAcquireRequest{
			Namespace: e.namespace, Names: claim.spec.Names, SessionId: id,
		}}
	}
	claim.command = e.send(command, now, func(answer *tenurev1.Answer, _, now clock.Moment) {
		// What was said before its session was moved does not count.
		if _, current := e.find(id, key); current == claim && claim.command == answer.Id {
			claim.command = 0
			e.claimAnswered(id, key, claim, answer, now)
		}
	})
}

func (e *Engine) acquireRequest(id string, claim *claim, now clock.Moment) *tenurev1.AcquireRequest {
	request := &tenurev1.AcquireRequest{
		Namespace: e.namespace, Names: claim.spec.Names, SessionId: id, Priority: claim.spec.Priority,
		Metadata: claim.spec.Metadata, Mode: claim.spec.Mode, Permits: claim.spec.Permits, Limit: claim.spec.Limit,
	}
	if !claim.waits {
		request.Wait = durationpb.New(claim.waitUntil.Since(now))
	}
	if claim.spec.MinHold > 0 {
		request.MinHold = durationpb.New(claim.spec.MinHold)
	}
	return request
}

// Release gives a hold back for somebody who waits for it.
func (e *Engine) Release(id string, key ClaimKey, giveUp, now clock.Moment) Reply[None] {
	reply := newReply[None]()
	_, claim := e.find(id, key)
	if claim == nil || claim.stage != heldStage {
		// It ended between the asking and now.
		reply.fail(lost(LostForgotten))
		return reply
	}
	claim.released = reply
	e.clearTimers(claim)
	e.claimTimer(claim, giveUp, func(clock.Moment) {
		// It is tried further, only nobody waits for it.
		if claim.released != nil {
			claim.released.fail(e.inVain(claim.refusal))
			claim.released = nil
		}
	})
	e.release(id, key, claim, now)
	return reply
}

func (e *Engine) release(id string, key ClaimKey, claim *claim, now clock.Moment) {
	delete(e.sessions[id].needed.byHolds, key)
	claim.hold.EndAsReleased(now)
	claim.stage = releasingStage
	e.sendClaim(id, key, now)
}

// DropClaim tells that nobody wants the claim any more, wherever it stands.
func (e *Engine) DropClaim(id string, key ClaimKey, now clock.Moment) {
	_, claim := e.find(id, key)
	if claim == nil {
		return
	}
	switch claim.stage {
	case queuedStage:
		e.endClaim(id, key, now)
	case askingStage:
		e.withdraw(id, key, claim, now)
	case heldStage:
		e.release(id, key, claim, now)
	case releasingStage, stoppingStage, withdrawingStage:
	}
}

// Asks the server to forget a claim that it was asked for.
func (e *Engine) withdraw(id string, key ClaimKey, claim *claim, now clock.Moment) {
	claim.stage = stoppingStage
	// An acquire that is under way has to come to its end first, lest it be granted after it was given up.
	if claim.command != 0 {
		e.stream.cancel(claim.command)
	} else {
		e.sendClaim(id, key, now)
	}
}

// A wait in the local queue is over.
func (e *Engine) giveUpQueueing(id string, key ClaimKey, now clock.Moment) {
	live, claim := e.find(id, key)
	if claim == nil || claim.stage != queuedStage {
		return
	}
	attempt := Attempt{}
	if first, busy := live.turns.firstInWay(claim.spec.Names); busy {
		attempt.Holder = live.claims[first].describe(id)
	}
	e.endClaim(id, key, now)
	claim.reply.tell(attempt)
}

// An answer has not come in time.
func (e *Engine) giveUpAsking(id string, key ClaimKey, now clock.Moment) {
	if _, claim := e.find(id, key); claim != nil && claim.stage == askingStage {
		claim.reply.fail(e.inVain(claim.refusal))
		e.withdraw(id, key, claim, now)
	}
}

// The claim is over: the next ones have their turn.
func (e *Engine) endClaim(id string, key ClaimKey, now clock.Moment) {
	live, claim := e.find(id, key)
	delete(live.claims, key)
	delete(live.needed.byHolds, key)
	e.clearTimers(claim)
	for _, next := range live.turns.leave(key, claim.spec.Names) {
		if follower := live.claims[next]; follower.stage == queuedStage && live.turns.isFirst(next, follower.spec.Names) {
			follower.stage = askingStage
			e.sendClaim(id, next, now)
		}
	}
}

// The claim whose hold has this token.
func (l *live) holdOf(token uint64) (ClaimKey, *claim) {
	for key, claim := range l.claims {
		if claim.stage == heldStage && claim.hold.Token == token {
			return key, claim
		}
	}
	return 0, nil
}

// Keeps a notice about a hold that is not known here, until it is known whether these locks were granted: answers and notices
// come by different ways through the server, and the one may overtake the other.
func (l *live) keepNotice(names []string, notice func(now clock.Moment)) {
	for _, claim := range l.claims {
		if claim.stage == askingStage && slices.Equal(claim.spec.Names, names) {
			claim.early = notice
			return
		}
	}
}
