package tenure

import (
	"context"
	"errors"
	"slices"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/internal/engine"
)

// Hold is a view of what is held, to hand around: it tells whether the hold is valid but does not keep it.
type Hold struct {
	presence *engine.Hold
}

// Token is the fencing token, to be sent along with every write that the lock protects. Greater than all tokens granted before
// it in the namespace.
func (h *Hold) Token() uint64 { return h.presence.Token }

// Names are the locks that are held, in byte order.
func (h *Hold) Names() []string { return slices.Clone(h.presence.Names) }

// IsValid tells whether the server cannot have given the locks away, decided by the clock at this very moment. Once false it
// stays so. A program may still be paused right after asking: that is what the token is for.
func (h *Hold) IsValid() bool { return h.Err() == nil }

// Err is nil while the hold is valid, and then a *LostError.
func (h *Hold) Err() error {
	if lost := h.presence.Check(clock.Now()); lost != nil {
		return lostError(lost)
	}
	return nil
}

// Lost is closed when the hold is lost or released: before the server could give the locks away, or as soon as it says so.
func (h *Hold) Lost() <-chan struct{} { return h.presence.Lost() }

// Context is one that is cancelled when the hold is lost, with the *LostError as its cause. The function releases what it
// needs, and cancels it.
func (h *Hold) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		select {
		case <-h.Lost():
			cancel(h.Err())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Tick says that the work under the hold gets on: see LockOptions.StallAfter, without which it does nothing.
func (h *Hold) Tick() {
	if progress := h.presence.Progress; progress != nil {
		progress.Tick(clock.Now())
	}
}

// TransferRequested is closed when the server asks to hand the locks over: an operator's transfer, or a better candidate that
// preempts. The work should then be stopped and the locks released, which confirms the handoff; if they are not in time, the
// hold goes on.
func (h *Hold) TransferRequested() <-chan struct{} { return h.presence.TransferRequested() }

// TransferRequest is the last such request. Nil: there was none.
func (h *Hold) TransferRequest() *TransferRequest {
	request := h.presence.TransferRequest()
	if request == nil {
		return nil
	}
	return &TransferRequest{
		Drain: request.Drain, Operator: request.Operator, Note: request.Note, stopAt: request.StopAt,
	}
}

// Guard keeps what is held until it is released.
type Guard struct {
	*Hold
	session *Session
	claim   engine.ClaimKey
	// Whether the session is there for this hold only.
	isOwn bool
}

// Session is the one that holds it.
func (g *Guard) Session() *Session { return g.session }

// Release gives the locks back, and returns when the server has done so. A *LostError if the hold had been lost before,
// even if only the server knows that; ErrUnavailable if no server answered in time, which is then tried further in the background;
// *RefusedError. A context that is over ends only the waiting.
func (g *Guard) Release(ctx context.Context) error {
	if lost := g.presence.EndAsReleased(clock.Now()); lost != nil {
		g.end()
		return lostError(lost)
	}
	var reply engine.Reply[engine.None]
	g.session.client.link.With(func(e *engine.Engine, now clock.Moment) {
		reply = e.Release(g.session.id, g.claim, now.After(g.session.client.callTimeout()), now)
	})
	_, err := await(ctx, reply, func() {})
	g.end()
	return err
}

// A session of its own ends with it.
func (g *Guard) end() {
	if g.isOwn {
		g.session.drop()
	}
}

// Update replaces the labels of the claim.
func (g *Guard) Update(ctx context.Context, metadata map[string]string) error {
	return g.session.client.updateClaim(ctx, g.Names()[0], g.session.id, g.Token(), metadata)
}

// TransferTo hands the locks over to a session that waits for them (empty: to whoever is first in the queue), in one step and
// without a gap in which nobody holds them. It answers the next holder's token. The work must have stopped: from the call on this
// hold is not valid any more, and if nothing comes of the handoff the locks are given back.
func (g *Guard) TransferTo(ctx context.Context, sessionID string) (uint64, error) {
	if lost := g.presence.EndAsReleased(clock.Now()); lost != nil {
		g.end()
		return 0, lostError(lost)
	}
	token, err := g.session.client.handOver(ctx, g.Names()[0], g.session.id, g.Token(), sessionID)
	g.session.client.link.With(func(e *engine.Engine, now clock.Moment) {
		e.DropClaim(g.session.id, g.claim, now)
	})
	g.end()
	return token, err
}

// Runs body until it ends, with a context that ends with the hold, and gives back.
func (g *Guard) run(ctx context.Context, body func(ctx context.Context, hold *Hold) error) error {
	under, cancel := g.Context(ctx)
	// Also after a panic: the locks are not to outlive the body.
	defer func() {
		cancel()
		if err := g.Release(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, ErrLost) {
			g.session.client.options.Logger.Warn("the lock was not given back cleanly", "error", err)
		}
	}()
	err := body(under, g.Hold)
	if lost := g.Err(); lost != nil {
		return lost
	}
	return err
}
