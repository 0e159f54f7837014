package engine

import (
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// What is kept of the drain for the release to reach the server in time: a fifth ...
	drainMarginDivisor = 5
	// ... but at least this ...
	drainMarginMin = 20 * time.Millisecond
	// ... and at most this.
	drainMarginMax = time.Second
)

// TransferRequest asks the holder to stop its work and hand over.
type TransferRequest struct {
	// For how long the holder was given to go on.
	Drain time.Duration
	// Who asks and why, as far as it is known.
	Operator, Note string
	// When the work has to stop, if the release is to reach the server in time.
	StopAt clock.Moment
}

func requestedTransfer(drain time.Duration, operator, note string, now clock.Moment) *TransferRequest {
	margin := min(max(drain/drainMarginDivisor, drainMarginMin), drainMarginMax)
	return &TransferRequest{Drain: drain, Operator: operator, Note: note, StopAt: now.After(max(0, drain-margin))}
}

// The server asks a holder to hand over.
func (e *Engine) transferRequested(request *tenurev1.TransferRequested, now clock.Moment) {
	live := e.sessions[request.SessionId]
	if live == nil {
		return
	}
	if _, claim := live.holdOf(request.Token); claim != nil {
		e.log.Info("asked to hand over", "session", request.SessionId, "token", request.Token)
		claim.hold.handOver(requestedTransfer(request.Drain.AsDuration(), request.Operator, request.Note, now))
	} else {
		live.keepNotice(request.Names, func(now clock.Moment) { e.transferRequested(request, now) })
	}
}

// The session was attached anew: the holds of which a handoff was asked meanwhile.
func (e *Engine) findTransfers(live *live, claims []*tenurev1.Claim, now clock.Moment) {
	for _, found := range claims {
		if _, claim := live.holdOf(found.Token); claim != nil && found.Transfer != nil && claim.hold.TransferRequest() == nil {
			claim.hold.handOver(requestedTransfer(found.Transfer.Drain.AsDuration(), "", "", now))
		}
	}
}
