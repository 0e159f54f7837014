package tenure

import (
	"context"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
)

// TransferRequest asks the holder to stop its work and hand over. It confirms by releasing; if it does not in time, it holds on.
type TransferRequest struct {
	// Drain is for how long the holder was given to go on, from when it was asked.
	Drain time.Duration
	// Operator is who asks. Empty: a better candidate waits, and the lock's settings say that it is handed the lock; or the client
	// was moving to another server when the request came.
	Operator string
	// Note is the operator's.
	Note string

	stopAt clock.Moment
}

// Remaining is how long the work may go on, if the release is to reach the server in time. Zero when that has passed.
func (r *TransferRequest) Remaining() time.Duration { return r.stopAt.Since(clock.Now()) }

// Waits until the server has asked for a handoff and its drain is nearly over. False if the context was over before.
func (h *Hold) drained(ctx context.Context) bool {
	select {
	case <-h.TransferRequested():
	case <-ctx.Done():
		return false
	}
	for remaining := h.TransferRequest().Remaining(); remaining > 0; remaining = h.TransferRequest().Remaining() {
		if !pause(ctx, remaining) {
			return false
		}
	}
	return true
}

// Waits. False if the context was over before.
func pause(ctx context.Context, how time.Duration) bool {
	timer := time.NewTimer(how)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
