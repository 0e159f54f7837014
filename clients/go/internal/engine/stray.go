package engine

import (
	"slices"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// The session was attached: gives back what nobody here holds or asks for. It was given back before, but the database has lost
// that. (What is asked for again, the server grants anew.)
func (e *Engine) giveStraysBack(id string, claims []*tenurev1.Claim, now clock.Moment) {
	live := e.sessions[id]
	for _, found := range claims {
		isKnown := false
		for _, claim := range live.claims {
			isKnown = isKnown || slices.Equal(claim.spec.Names, found.Names)
		}
		if isKnown || len(found.Names) == 0 {
			continue
		}
		command := &tenurev1.Command{}
		switch found.State {
		case tenurev1.ClaimState_CLAIM_STATE_HELD:
			command.Kind = &tenurev1.Command_Release{Release: &tenurev1.ReleaseRequest{
				Namespace: e.namespace, Name: found.Names[0], SessionId: id, Token: found.Token,
			}}
		case tenurev1.ClaimState_CLAIM_STATE_WAITING:
			command.Kind = &tenurev1.Command_CancelAcquire{CancelAcquire: &tenurev1.CancelAcquireRequest{
				Namespace: e.namespace, Names: found.Names, SessionId: id,
			}}
		default:
			continue
		}
		e.log.Warn("gives back what it did before", "session", id, "names", found.Names, "token", found.Token)
		e.send(command, now, func(answer *tenurev1.Answer, _, now clock.Moment) {
			if kind, refused := answer.Kind.(*tenurev1.Answer_Refusal); refused {
				e.strayRefused(id, refusal(kind.Refusal), now)
			}
		})
	}
}

// What a refusal leaves behind is looked at again when the session is attached again.
func (e *Engine) strayRefused(id string, refused *Refusal, now clock.Moment) {
	if e.endedByRefusal(id, refused, now) {
		return
	}
	if e.isForNow(refused) || refused.Reason == "NOT_ATTACHED" {
		e.moved(id, now)
	}
}
