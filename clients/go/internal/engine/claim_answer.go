package engine

import (
	"maps"
	"slices"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func (e *Engine) claimAnswered(id string, key ClaimKey, claim *claim, answer *tenurev1.Answer, now clock.Moment) {
	switch kind := answer.Kind.(type) {
	case *tenurev1.Answer_Acquire:
		e.acquired(id, key, claim, kind.Acquire, now)
	case *tenurev1.Answer_Release, *tenurev1.Answer_CancelAcquire:
		e.givenBack(id, key, claim, now)
	case *tenurev1.Answer_Refusal:
		e.claimRefused(id, key, claim, refusal(kind.Refusal), now)
	default:
		e.misfit(answer)
	}
}

// An acquire was answered.
func (e *Engine) acquired(id string, key ClaimKey, claim *claim, answer *tenurev1.AcquireResponse, now clock.Moment) {
	switch {
	case claim.stage == stoppingStage && answer.Acquired:
		e.sendClaim(id, key, now)
	case claim.stage == stoppingStage:
		e.endClaim(id, key, now)
	case claim.stage != askingStage:
	case answer.Acquired:
		e.granted(id, key, claim, answer.Token, now)
	case claim.waits:
		// Nothing ends a wait without end but its client: so it is asked anew.
		e.sendClaimAt(id, key, now.After(claim.backoff.Next()))
	default:
		e.endClaim(id, key, now)
		claim.reply.tell(Attempt{Holder: answer.Holder})
	}
}

func (e *Engine) granted(id string, key ClaimKey, claim *claim, token uint64, now clock.Moment) {
	live := e.sessions[id]
	e.clearTimers(claim)
	var progress *Progress
	if claim.spec.StallAfter > 0 {
		progress = NewProgress(claim.spec.StallAfter, now)
		live.needed.byHolds[key] = progress
	}
	claim.hold = NewHold(live.presence, claim.spec.Names, token, progress)
	claim.stage = heldStage
	claim.refusal = nil
	hold := claim.hold
	if claim.early != nil {
		claim.early(now)
	}
	claim.reply.tell(Attempt{Hold: hold})
}

// A release or a withdrawal took effect.
func (e *Engine) givenBack(id string, key ClaimKey, claim *claim, now clock.Moment) {
	e.endClaim(id, key, now)
	if claim.released != nil {
		claim.released.tell(None{})
	}
}

func (e *Engine) claimRefused(id string, key ClaimKey, claim *claim, refused *Refusal, now clock.Moment) {
	if e.endedByRefusal(id, refused, now) {
		return
	}
	forNow := e.isForNow(refused)
	if refused.Reason == "NOT_ATTACHED" {
		e.moved(id, now)
		return
	}
	if claim.stage == stoppingStage {
		// Whatever the refusal says: it was about the acquire.
		e.sendClaim(id, key, now)
		return
	}
	// The server gave the place in the queue up because it did not see this client in time: it is still wanted.
	unseen := refused.Reason == "CLAIM_ENDED" && refused.Metadata["end_reason"] == "disconnected"
	if forNow || unseen && claim.stage == askingStage {
		claim.refusal = refused
		e.sendClaimAt(id, key, now.After(claim.backoff.Next()))
		return
	}
	e.endClaim(id, key, now)
	switch {
	case claim.stage == askingStage:
		claim.reply.fail(refused)
	case claim.stage == releasingStage && claim.released != nil:
		claim.released.fail(refused.ofRelease())
	case claim.stage == withdrawingStage:
		e.log.Warn("a claim was not withdrawn", "session", id, "reason", refused.Reason)
	}
}

// Ends the holds that the server does not know of any more. Those granted after the revision it could not know of yet.
func (e *Engine) compareHolds(id string, claims []*tenurev1.Claim, revision uint64, now clock.Moment) {
	live := e.sessions[id]
	for _, key := range slices.Sorted(maps.Keys(live.claims)) {
		claim := live.claims[key]
		isKnown := func(found *tenurev1.Claim) bool {
			return found.State == tenurev1.ClaimState_CLAIM_STATE_HELD && found.Token == claim.hold.Token
		}
		if claim.stage == heldStage && claim.hold.Token <= revision && !slices.ContainsFunc(claims, isKnown) {
			e.endHold(id, key, claim, lost(LostForgotten), now)
		}
	}
}

// The server says that a hold has ended.
func (e *Engine) holdEnded(notice *tenurev1.HoldEnded, now clock.Moment) {
	live := e.sessions[notice.SessionId]
	if live == nil {
		return
	}
	key, claim := live.holdOf(notice.Token)
	if claim == nil {
		live.keepNotice(notice.Names, func(now clock.Moment) { e.holdEnded(notice, now) })
		return
	}
	reason := &Lost{
		Reason: LostEnded, EndReason: EndReason(notice.Reason), Operator: notice.Operator, Note: notice.Note,
	}
	e.endHold(notice.SessionId, key, claim, reason, now)
}

func (e *Engine) endHold(id string, key ClaimKey, claim *claim, reason *Lost, now clock.Moment) {
	e.log.Warn("the hold is lost", "session", id, "token", claim.hold.Token, "reason", reason)
	e.endClaim(id, key, now)
	claim.hold.End(reason, now)
}
