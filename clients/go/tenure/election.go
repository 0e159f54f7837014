package tenure

import (
	"context"
	"errors"
	"iter"
	"maps"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
)

const (
	// A loop that waits for its next body tells that it goes on, so many times before it would count as stalled ...
	ticksWhileWaiting = 3
	// ... but not oftener than this.
	shortestTick = time.Millisecond
)

// ElectionOptions tell how to take part in an election. The zero value and nil are the defaults. See LockOptions and
// SessionOptions for the bounds.
type ElectionOptions struct {
	// TTL is how long the leader may be unheard of before another takes over. Default: 10 s.
	TTL time.Duration
	// DisconnectGrace is how long after the leader's connection has broken another takes over, if it is not back by then. Default:
	// none, the TTL alone counts.
	DisconnectGrace time.Duration
	// Owner is who this candidate is, for people. Default: empty.
	Owner string
	// Metadata are labels on the candidate, such as the address at which the leader is reached. Default: none.
	Metadata map[string]string
	// Priority goes first among candidates if it is higher. Default: 0.
	Priority int32
	// MinHold is for how long at least after a candidate was elected no other is, even if it resigns earlier. Default: 0.
	MinHold time.Duration
	// StallAfter renews the leadership only while the leader's work makes progress. In LeadEvery the loop tells by itself: this is
	// how long one body may take. In Lead, and after Campaign, the work tells by Hold.Tick, at least this often. Default: renewed
	// while the client runs.
	StallAfter time.Duration
}

// Election is one candidate's part in an election. The leader is whoever holds the lock of the election's name.
type Election struct {
	client  *Client
	name    string
	options ElectionOptions
}

// Leader is who leads.
type Leader struct {
	// Token is the fencing token of the leadership.
	Token uint64
	// SessionID is the leader's session.
	SessionID string
	// Owner is the leader's owner label.
	Owner string
	// Metadata are the leader's labels.
	Metadata map[string]string
}

// Election is a candidate's part in an election.
func (c *Client) Election(name string, options *ElectionOptions) *Election {
	election := &Election{client: c, name: name}
	if options != nil {
		election.options = *options
	}
	return election
}

// Name is the election's.
func (e *Election) Name() string { return e.name }

// Leadership is one term of leading, from an election won to its loss.
type Leadership struct {
	*Guard
}

// Resign steps down, and returns when the server has recorded it: see Guard.Release.
func (l *Leadership) Resign(ctx context.Context) error { return l.Release(ctx) }

// Campaign waits until this candidate leads.
func (e *Election) Campaign(ctx context.Context) (*Leadership, error) {
	guard, err := e.client.Lock(e.name, &LockOptions{
		Session: SessionOptions{
			TTL: e.options.TTL, DisconnectGrace: e.options.DisconnectGrace, Owner: e.options.Owner,
		},
		Priority: e.options.Priority, Metadata: e.options.Metadata, MinHold: e.options.MinHold, StallAfter: e.options.StallAfter,
	}).Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return &Leadership{Guard: guard}, nil
}

// Lead campaigns, runs body while this candidate leads, and so on for ever: after a loss, and when body has returned nil (it
// then resigns). Body's context is cancelled when the leadership is lost, with the loss as its cause; each term has a new token.
//
// When the server asks for a handoff (Hold.TransferRequested), body may go on until the drain is nearly over; then it is cancelled,
// and this candidate resigns, which confirms the handoff.
//
// It ends with the context, after body has; with the first error that body returns while its context lasts; and with an error that
// trying again cannot cure. It resigns then.
func (e *Election) Lead(ctx context.Context, body func(ctx context.Context, hold *Hold) error) error {
	pauses := backoff.New(firstPause, longestPause)
	log := e.client.options.Logger
	for {
		leadership, err := e.Campaign(ctx)
		if err != nil {
			if isOver(ctx, err) || !IsTransient(err) && !errors.Is(err, ErrLost) {
				return err
			}
			log.Warn("the campaign failed, and starts over", "election", e.name, "error", err)
			if !pause(ctx, pauses.Next()) {
				return context.Cause(ctx)
			}
			continue
		}
		pauses.Reset()
		log.Info("leading", "election", e.name, "token", leadership.Token())
		if err := leadership.lead(ctx, body); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// Runs body for this term, and resigns. Answers body's error, if that is what ended it.
func (l *Leadership) lead(ctx context.Context, body func(ctx context.Context, hold *Hold) error) error {
	term, cancel := l.Context(ctx)
	drained, drain := context.WithCancelCause(term)
	go func() {
		if l.drained(term) {
			drain(errDrained)
		}
	}()
	// Also after a panic: the leadership is not to outlive the body.
	defer func() {
		cancel()
		if err := l.Resign(context.WithoutCancel(ctx)); err != nil {
			l.session.client.options.Logger.Warn("the leadership has ended", "names", l.Names(), "error", err)
		}
	}()
	err := body(drained, l.Hold)
	if drained.Err() != nil {
		return nil
	}
	return err
}

var errDrained = errors.New("the leadership is handed over")

// LeadEvery runs body at once on leading, and then every period while this candidate leads; it campaigns again after a loss. A
// body that takes longer than the period delays the next. Its context is cancelled when the leadership is lost. A body that hangs
// loses the leadership only with StallAfter. When the server asks for a handoff, the body that runs may come to its end within the
// drain, and no other begins. It ends as Lead does.
func (e *Election) LeadEvery(
	ctx context.Context, period time.Duration, body func(ctx context.Context, hold *Hold) error,
) error {
	if period <= 0 {
		return &InvalidError{Field: "period", Problem: "it is not more than zero"}
	}
	return e.Lead(ctx, func(ctx context.Context, hold *Hold) error {
		for next := time.Now(); e.pauseUntil(ctx, hold, next); {
			// The process may have been paused since the tick.
			if !hold.IsValid() {
				return nil
			}
			next = time.Now().Add(period)
			if err := body(ctx, hold); err != nil {
				return err
			}
			hold.Tick()
		}
		return nil
	})
}

// Waits for the next body's time. To wait is no stall, however long the period is. False if no body is to follow.
func (e *Election) pauseUntil(ctx context.Context, hold *Hold, next time.Time) bool {
	for {
		hold.Tick()
		left := time.Until(next)
		if e.options.StallAfter > 0 {
			left = min(left, max(e.options.StallAfter/ticksWhileWaiting, shortestTick))
		}
		select {
		case <-ctx.Done():
			return false
		// Between two bodies there is nothing to drain.
		case <-hold.TransferRequested():
			return false
		case <-time.After(left):
		}
		if !time.Now().Before(next) {
			hold.Tick()
			return true
		}
	}
}

// Leader is who leads now. Nil: nobody does.
func (e *Election) Leader(ctx context.Context) (*Leader, error) {
	lock, err := e.client.GetLock(ctx, e.name)
	if err != nil {
		return nil, err
	}
	return leaderOf(lock.Holder()), nil
}

// Observe tells who leads, now and after each change; nil while nobody does. It goes on by itself after failures, and ends as a
// watch does.
func (e *Election) Observe(ctx context.Context) iter.Seq2[*Leader, error] {
	return func(yield func(*Leader, error) bool) {
		var last *Leader
		isFirst := true
		for event, err := range e.client.Watch(ctx, &WatchOptions{Names: []string{e.name}}) {
			var leader *Leader
			switch {
			case err != nil:
				yield(nil, err)
				return
			case event.Kind == WatchSnapshot:
				for place := range event.Locks {
					if event.Locks[place].Name == e.name {
						leader = leaderOf(event.Locks[place].Holder())
					}
				}
			case event.Kind == WatchEvents:
				leader = leaderAfter(event.Events, last)
			default:
				continue
			}
			if !isFirst && leader.equals(last) {
				continue
			}
			isFirst, last = false, leader
			if !yield(leader, nil) {
				return
			}
		}
	}
}

func leaderOf(claim *Claim) *Leader {
	if claim == nil || claim.Token == 0 {
		return nil
	}
	return &Leader{Token: claim.Token, SessionID: claim.SessionID, Owner: claim.Owner, Metadata: claim.Metadata}
}

func (l *Leader) equals(other *Leader) bool {
	if l == nil || other == nil {
		return l == other
	}
	return l.Token == other.Token && l.SessionID == other.SessionID && l.Owner == other.Owner &&
		maps.Equal(l.Metadata, other.Metadata)
}

func leaderAfter(events []Event, leader *Leader) *Leader {
	for _, event := range events {
		switch event.Kind {
		case EventGranted, EventTransferred, EventUpdated:
			leader = leaderOf(event.Claim)
		case EventEnded, EventLingering:
			// The end of a waiter's claim changes nothing.
			if event.Vacant || leader != nil && event.Claim != nil && event.Claim.Token == leader.Token {
				leader = nil
			}
		default:
		}
	}
	return leader
}
