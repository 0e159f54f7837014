package tenure

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// The part of the drain that is reserved for the release to reach the server in time: a fifth ...
	marginDivisor = 5
	// ... but at least this ...
	shortestMargin = 20 * time.Millisecond
	// ... and at most this.
	longestMargin = time.Second
)

// Hold is a view of what is held, to hand around: it shows whether the hold is valid but does not keep it.
type Hold struct {
	*part
	names []string
	token uint64
}

// Token is the fencing token, to be sent along with every write that the lock protects. Greater than all tokens granted
// before it in the namespace.
func (h *Hold) Token() uint64 { return h.token }

// Names are the locks that are held, in byte order.
func (h *Hold) Names() []string { return slices.Clone(h.names) }

// Context is one that is cancelled when the hold is lost, with the *LostError as its cause. The function cancels it,
// and releases its resources.
func (h *Hold) Context(parent context.Context) (context.Context, context.CancelFunc) {
	return whileHeld(parent, h.part)
}

func whileHeld(parent context.Context, part *part) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		select {
		case <-part.item.Lost:
			cancel(part.Err())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// TransferRequest is a request to the holder to stop its work and hand over. It confirms by releasing; otherwise it
// keeps the lock.
type TransferRequest struct {
	// Pending is the contract's. Without an operator: a better candidate waits, and by the lock's settings it is handed
	// the lock; or the client was moving to another server when the request arrived.
	Pending *tenurev1.PendingTransfer
	stopAt  clock.Moment
}

// Remaining is how long the work may continue, if the release is to reach the server in time. Zero when that has
// passed.
func (r *TransferRequest) Remaining() time.Duration { return r.stopAt.Since(clock.Now()) }

func stopAt(drain time.Duration, since clock.Moment) clock.Moment {
	margin := min(max(drain/marginDivisor, shortestMargin), longestMargin)
	return since.After(max(0, drain-margin))
}

func (h *Hold) transferRequest() *TransferRequest {
	pending := h.item.State.GetHeld().GetTransfer()
	if pending == nil {
		return nil
	}
	return &TransferRequest{Pending: pending, stopAt: stopAt(pending.Drain.AsDuration(), h.item.Since)}
}

// TransferRequested waits until the server asks to hand the locks over: an operator's transfer, or a better candidate
// that preempts. The work should then stop and release the locks, which confirms the handoff; otherwise the hold
// remains. An error if the context is done before, or the hold is lost.
func (h *Hold) TransferRequested(ctx context.Context) (request *TransferRequest, err error) {
	awaited := h.await(ctx, func(clock.Moment) (bool, clock.Moment) {
		request, err = h.transferRequest(), lostError(h.item.Loss)
		return request != nil || err != nil, clock.Never
	})
	return request, cmp.Or(awaited, err)
}

// Guard owns a hold, until it is released, its session is closed, or its client.
type Guard struct {
	*Hold
}

// Session is the one that holds it.
func (g *Guard) Session() *Session { return g.session }

// Release releases the locks, and returns when the server has released them. A *LostError if the hold had been lost
// before, even if only the server knows that; ErrUnavailable if no server answered in time, and then the release is
// repeated in the background; ErrRefused. A context that is done ends only the wait.
func (g *Guard) Release(ctx context.Context) error { return g.end(ctx) }

// UpdateMetadata replaces the labels of the claim. ErrRefused; ErrUnavailable.
func (g *Guard) UpdateMetadata(ctx context.Context, metadata map[string]string) error {
	_, err := g.client.services.UpdateClaim(ctx, &tenurev1.UpdateClaimRequest{
		Name: g.names[0], SessionId: g.session.ID(), Token: g.token, Metadata: metadata,
	})
	return err
}

// TransferTo hands the locks over to a session that waits for them (empty: to the first in the queue), in one step and
// without a gap in which they have no holder. Returns the next holder's token. The work must have stopped: from the
// call on, this hold is no longer valid, and if the handoff fails, the locks are released. ErrLost or ErrRefused
// (TRANSFER_IMPOSSIBLE if no waiter could hold next); ErrUnavailable.
func (g *Guard) TransferTo(ctx context.Context, sessionID string) (uint64, error) {
	p, _ := g.client.driver.Lock()
	lost := lostError(g.item.Loss)
	p.Invalidate(g.item)
	g.client.driver.Unlock()
	defer func() { _ = g.withdraw() }()
	if lost != nil {
		return 0, lost
	}
	// With its session the transfer does not wait: the holder has stopped.
	reply, err := g.client.Transfer(ctx, &tenurev1.TransferRequest{
		Name: g.names[0], SessionId: g.session.ID(), Token: g.token, ToSessionId: sessionID,
	})
	return reply.GetToken(), err
}

// Runs body until it ends, with a context that ends with the hold, and releases.
func (g *Guard) run(ctx context.Context, body func(ctx context.Context, hold *Hold) error) error {
	under, cancel := g.Context(ctx)
	// Also after a panic: the locks are not to outlive the body.
	defer func() {
		cancel()
		if err := g.Release(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, ErrLost) {
			g.client.options.Logger.Warn("the lock was not released cleanly", "names", g.names, "error", err)
		}
	}()
	err := body(under, g.Hold)
	if lost := g.Err(); lost != nil {
		return lost
	}
	return err
}
