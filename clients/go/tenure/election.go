package tenure

import (
	"context"
	"errors"
	"iter"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// A loop that waits for its next body reports progress this number of times before it would count as stalled ...
	ticksWhileWaiting = 3
	// ... and the shortest interval of these reports.
	shortestTick = time.Millisecond
)

// Election is a candidacy in an election. The leader is the holder of the lock of the election's name.
type Election struct {
	client *Client
	name   string
	lock   *Lock
}

// Election is a candidacy in an election, in a session of its own for each term. StallAfter renews the leadership only
// while the leader's work makes progress: in LeadEvery the loop reports progress itself, and this is the longest time
// for one body; in Lead, and after Campaign, the work reports it by Hold.Tick.
func (c *Client) Election(name string, options *LockOptions) *Election {
	return &Election{client: c, name: name, lock: c.Lock(name, options)}
}

// Campaign waits until this candidate leads. Returns its hold of the lock, until whose loss or release it leads: one
// term, with a token greater than those of all earlier terms. Errors are those of Lock.Acquire.
func (e *Election) Campaign(ctx context.Context) (*Guard, error) { return e.lock.Acquire(ctx) }

// Lead campaigns, runs body while this candidate leads, and repeats this after a loss, and when body has returned nil
// (the candidate then resigns). Body's context is cancelled when the leadership is lost, with the loss as its cause;
// each term has a new token.
//
// When the server asks for a handoff (Hold.TransferRequested), body may continue until the drain is nearly over; then
// its context is cancelled, and this candidate resigns, which confirms the handoff.
//
// It ends when the context is done, after body has ended; with the first error that body returns while its context
// lasts; and with an error that a retry cannot fix. This candidate then resigns.
func (e *Election) Lead(ctx context.Context, body func(ctx context.Context, hold *Hold) error) error {
	pauses := pausesOfRoles
	for {
		guard, err := e.Campaign(ctx)
		if err == nil {
			pauses.Reset()
			if err := guard.lead(ctx, body); err != nil {
				return err
			}
			continue
		}
		if !IsTransient(err) && !errors.Is(err, ErrLost) {
			return err
		}
		e.client.options.Logger.Warn("the campaign failed, and starts over", "election", e.name, "error", err)
		if !pause(ctx, pauses.Next()) {
			return context.Cause(ctx)
		}
	}
}

// Runs body for this term, and resigns. Returns body's error, or the cause of a context that is done, if that is what
// ended it.
func (g *Guard) lead(ctx context.Context, body func(ctx context.Context, hold *Hold) error) error {
	term, cancel := g.Context(ctx)
	draining, drained := context.WithCancel(term)
	go func() {
		request, err := g.TransferRequested(term)
		for err == nil && request.Remaining() > 0 && pause(term, request.Remaining()) {
			request, err = g.TransferRequested(term)
		}
		drained()
	}()
	// Also after a panic: the leadership is not to outlive the body.
	defer func() {
		cancel()
		if err := g.Release(context.WithoutCancel(ctx)); err != nil {
			g.client.options.Logger.Warn("the leadership has ended", "names", g.names, "error", err)
		}
	}()
	err := body(draining, g.Hold)
	if draining.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// LeadEvery runs body at the start of each term, and then every period while this candidate leads; it campaigns again
// after a loss. A body that takes longer than the period delays the next. Its context is cancelled when the leadership
// is lost. A hung body loses the leadership only with StallAfter. When the server asks for a handoff, the running body
// may end within the drain, and no other begins. It ends as Lead does; an *InvalidError for a period of zero.
func (e *Election) LeadEvery(
	ctx context.Context, period time.Duration, body func(ctx context.Context, hold *Hold) error,
) error {
	if period <= 0 {
		return &InvalidError{Field: "period", Problem: "it is not more than zero"}
	}
	return e.Lead(ctx, func(ctx context.Context, hold *Hold) error {
		// Between two bodies there is nothing to drain.
		waiting, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			_, _ = hold.TransferRequested(waiting)
			stop()
		}()
		for next := time.Now(); e.pauseUntil(waiting, hold, next); {
			// The process may have been paused since the tick.
			if !hold.IsValid() {
				return nil
			}
			next = time.Now().Add(period)
			if err := body(ctx, hold); err != nil {
				return err
			}
		}
		return nil
	})
}

// Waits for the next body's time. Waiting is no stall, however long the period is. False if no body is to follow.
func (e *Election) pauseUntil(ctx context.Context, hold *Hold, next time.Time) bool {
	for {
		hold.Tick()
		left := time.Until(next)
		if left <= 0 {
			return ctx.Err() == nil
		}
		if stallAfter := e.lock.options.StallAfter; stallAfter > 0 {
			left = min(left, max(stallAfter/ticksWhileWaiting, shortestTick))
		}
		if !pause(ctx, left) {
			return false
		}
	}
}

// Leader is the claim of the current leader; nil if there is none. ErrUnavailable, ErrRefused.
func (e *Election) Leader(ctx context.Context) (*tenurev1.Claim, error) {
	reply, err := e.client.GetLock(ctx, &tenurev1.GetLockRequest{Name: e.name})
	return HolderOf(reply.GetLock()), err
}

// Observe is the claim of the leader, now and after each change; nil while there is no leader. Continues by itself
// after failures, and ends as a watch does.
func (e *Election) Observe(ctx context.Context) iter.Seq2[*tenurev1.Claim, error] {
	return func(yield func(*tenurev1.Claim, error) bool) {
		var leader, last *tenurev1.Claim
		isFirst := true
		for response, err := range e.client.Watch(ctx, &tenurev1.WatchRequest{Names: []string{e.name}}) {
			if err != nil {
				yield(nil, err)
				return
			}
			switch kind := response.Kind.(type) {
			case *tenurev1.WatchResponse_Snapshot:
				leader = HolderOf(kind.Snapshot.Locks[0])
			case *tenurev1.WatchResponse_Events:
				leader = leaderAfter(kind.Events.Events, leader)
			default:
				continue
			}
			if !isFirst && proto.Equal(leader, last) {
				continue
			}
			isFirst, last = false, leader
			if !yield(leader, nil) {
				return
			}
		}
	}
}

func leaderAfter(events []*tenurev1.Event, leader *tenurev1.Claim) *tenurev1.Claim {
	for _, event := range events {
		switch event.Type {
		case tenurev1.EventType_EVENT_TYPE_GRANTED, tenurev1.EventType_EVENT_TYPE_TRANSFERRED,
			tenurev1.EventType_EVENT_TYPE_UPDATED:
			leader = event.Claim
		case tenurev1.EventType_EVENT_TYPE_ENDED, tenurev1.EventType_EVENT_TYPE_LINGERING:
			// The end of a waiter's claim changes nothing.
			if event.Claim.GetToken() == leader.GetToken() {
				leader = nil
			}
		}
	}
	return leader
}
