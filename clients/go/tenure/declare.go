package tenure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/internal/protocol"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// A wait without an end.
const forever = time.Duration(clock.Never)

var (
	errUnanswered = fmt.Errorf("%w: the server did not answer", ErrUnavailable)
	// What ended while the client had no connection, and may be declared again: the caller still waits for it.
	errDisconnected = fmt.Errorf("%w: the request ended while the client was disconnected", ErrUnavailable)
)

// What sessions, claims and memberships have in common.
type part struct {
	client *Client
	item   *protocol.Item
	// The session of a claim or membership; else nil.
	session *Session
	// Whether that was opened for it.
	isOwn bool
}

// Lost is closed when it is lost or ended by this program: before the server could end it, or as soon as the server
// reports the end.
func (p *part) Lost() <-chan struct{} { return p.item.Lost }

// Err is nil while it is valid, and then a *LostError, decided by the clock at this moment.
func (p *part) Err() error {
	p.client.driver.Lock()
	defer p.client.driver.Unlock()
	return lostError(p.item.Loss)
}

// IsValid is whether the server cannot have ended it, decided by the clock at this moment: a process that was paused
// for too long gets false when it resumes. Once false it stays so. A program may still be paused right after the check:
// the token protects against that.
func (p *part) IsValid() bool { return p.Err() == nil }

// Tick reports progress: see the option StallAfter, without which it has no effect. Cheap, takes no lock, and may be
// called from any goroutine.
func (p *part) Tick() { p.item.Tick(clock.Now()) }

// Withdraws it, and a session that was opened for it. Returns why it had been lost before, if it had.
func (p *part) withdraw() (lost error) {
	protocol, now := p.client.driver.Lock()
	defer p.client.driver.Unlock()
	lost = lostError(p.item.Loss)
	// First, so that history has a release.
	protocol.Withdraw(p.item, now)
	if p.isOwn {
		protocol.Withdraw(p.item.Session, now)
	}
	return lost
}

// Withdraws it, and returns when the server has ended it. A *LostError if it was lost.
func (p *part) end(ctx context.Context) error {
	lost := p.withdraw()
	if lost != nil {
		return lost
	}
	limit := clock.Now().After(p.client.options.CallTimeout)
	err := p.await(ctx, func(now clock.Moment) (isDone bool, next clock.Moment) {
		lost = lostError(p.item.End)
		if !p.item.IsEnded && now >= limit {
			lost = errUnanswered
		}
		return p.item.IsEnded || now >= limit, limit
	})
	return cmp.Or(err, lost)
}

// Waits until look returns true. It is called under the lock: at once, after each change of the item, and at the moment
// that it returns.
func (p *part) await(ctx context.Context, look func(now clock.Moment) (isDone bool, next clock.Moment)) error {
	for {
		_, now := p.client.driver.Lock()
		isDone, next := look(now)
		changed := p.item.Changed
		p.client.driver.Unlock()
		if isDone {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(next.Since(now)):
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.client.driver.Done():
			return ErrClosed
		}
	}
}

// Where claims and memberships are made: in a session, or each in one of its own, with these options.
type target struct {
	client  *Client
	session *Session
	options SessionOptions
}

// Declares a session, a claim or a membership, and waits for it, at most so long. Returns it with its state; or only
// the state of a claim that waits or is busy. The renewal of its session depends on the progress.
func (t target) obtain(
	ctx context.Context, declaration *tenurev1.Declaration, stallAfter, wait time.Duration,
) (obtained *part, state *tenurev1.State, err error) {
	if err := check(rule{stallAfter < 0 || t.options.StallAfter < 0, "stall_after", "it is less than zero"}); err != nil {
		return nil, nil, err
	}
	until := clock.Now().After(wait)
	// In a session that exists, a wait without an end may also wait for a server.
	reply := until.After(t.client.options.CallTimeout)
	if t.session == nil && wait == forever {
		reply = clock.Now().After(t.client.options.CallTimeout)
	}
	err = repeat(ctx, reply, mayDeclareAgain, func() error {
		declared, err := t.declare(ctx, proto.CloneOf(declaration), stallAfter, reply)
		if err != nil {
			return err
		}
		state, err = declared.settle(ctx, until, reply)
		switch {
		case err != nil:
			_ = declared.withdraw()
		case state.GetWaiting() != nil || state.GetBusy() != nil:
			// Not needed for the outcome: but when the caller reads the queue, it has left.
			_ = declared.end(ctx)
		default:
			obtained = declared
		}
		return err
	})
	return obtained, state, err
}

func (t target) declare(
	ctx context.Context, declaration *tenurev1.Declaration, stallAfter time.Duration, reply clock.Moment,
) (*part, error) {
	declared := &part{client: t.client, session: t.session, isOwn: t.session == nil}
	if declared.isOwn {
		declaration.Open = t.options.declared()
		declared.session = &Session{part: part{client: t.client}, declared: declaration.Open}
		// Without a connection there is no reply to wait for.
		limited, cancel := context.WithTimeout(ctx, reply.Since(clock.Now()))
		defer cancel()
		if _, _, err := t.client.driver.Conn(limited); err != nil {
			return nil, causeOr(ctx, failure(err))
		}
	}
	session := declared.session
	p, now := t.client.driver.Lock()
	defer t.client.driver.Unlock()
	switch {
	case !declared.isOwn && session.item.Loss != nil:
		return nil, lostError(session.item.Loss)
	case t.client.driver.IsClosing():
		return nil, ErrClosed
	}
	session.item, declared.item = p.Declare(session.item, declaration, now)
	if declared.isOwn {
		p.Need(session.item, t.options.StallAfter)
	}
	if declared.item == nil {
		declared.item = session.item
	}
	p.Need(declared.item, stallAfter)
	return declared, nil
}

// Waits until it is open, held or joined, or its locks are not free. If it is in the queue, until `until` at most; if
// nothing is known of it, until `reply`.
func (p *part) settle(ctx context.Context, until, reply clock.Moment) (state *tenurev1.State, err error) {
	awaited := p.await(ctx, func(now clock.Moment) (isDone bool, next clock.Moment) {
		state, err = p.item.State, p.claimError()
		isWaiting, isOpen := state.GetWaiting() != nil, p.item.Session.State.GetOpen() != nil
		switch {
		case err != nil || state.GetBusy() != nil || isOpen && state != nil && !isWaiting:
			return true, 0
		case isWaiting:
			return now >= until, until
		case now >= reply:
			err = errUnanswered
		}
		return now >= reply, reply
	})
	return state, cmp.Or(awaited, err)
}

// Why it cannot be had; nil for locks that are not free.
func (p *part) claimError() error {
	state, loss, session := p.item.State, p.item.Loss, p.item.Session
	switch {
	case state.GetRejected() != nil:
		return &RefusedError{Refusal: state.GetRejected()}
	case loss == nil || state.GetBusy() != nil:
		return nil
	case loss.State.GetReason() == tenurev1.EndReason_END_REASON_DISCONNECTED && session.Loss == nil:
		return errDisconnected
	case loss.Reason == protocol.Forgotten && state == nil && (session.Loss == nil || session.State == nil):
		return errDisconnected
	case loss.Reason == protocol.Ended && session.Loss == nil:
		word := endWord(loss.State.Reason)
		metadata, message := map[string]string{"end_reason": word}, "the claim ended while it waited: "+word
		return &RefusedError{&tenurev1.Refusal{Reason: "CLAIM_ENDED", Message: message, Metadata: metadata}}
	}
	return lostError(loss)
}

// Whether it may be declared again.
func mayDeclareAgain(err error) bool {
	return errors.Is(err, errDisconnected) || IsTransient(err) && !errors.Is(err, ErrUnavailable)
}

// Repeats an attempt after errors for which that is allowed, with pauses between them, until the deadline.
func repeat(ctx context.Context, deadline clock.Moment, isAllowed func(error) bool, attempt func() error) error {
	for pauses := pausesOfCalls; ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := attempt()
		duration := pauses.Next()
		if err == nil || !isAllowed(err) || clock.Now().After(duration) >= deadline {
			return causeOr(ctx, err)
		}
		pause(ctx, duration)
	}
}

// The cause of a context that is done; else the error.
func causeOr(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
