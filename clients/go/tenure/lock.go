package tenure

import (
	"context"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/internal/engine"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// LockOptions tell how to ask for locks. The zero value and nil are the defaults. The server checks the bounds.
type LockOptions struct {
	// Session is how to open the session of its own, of a lock of a client. No effect on a lock of a session.
	Session SessionOptions
	// Shared shares the locks with others who ask for them shared: readers, as against a writer. A writer that waits lets no
	// later reader pass. Default: exclusive.
	Shared bool
	// Permits takes so many permits of each lock, out of its limit: a semaphore. 1 to 1,000,000. Default: exclusive; 1 with a
	// Limit.
	Permits uint32
	// Limit of permits that this program goes by: refused if the lock has another one. 1 to 1,000,000. Default: whatever the
	// lock's limit is.
	Limit uint32
	// Priority goes first among waiters if it is higher: -1000 to 1000. Default: 0.
	Priority int32
	// Metadata are free labels on the claim. At most 4096 bytes in all. Default: none.
	Metadata map[string]string
	// MinHold is for how long after the grant, at least, nobody is granted these locks again, even if they are released earlier.
	// For jobs that are shorter than the clock skew of those who start them. At most 24 h. Default: 0.
	MinHold time.Duration
	// StallAfter renews the session only while the grant, or the last Hold.Tick, is less than this ago. Work that hangs so loses
	// its locks within this and the TTL together, like a program that died. A session is renewed as a whole: what else it holds is
	// lost too. Default: renewed while the client runs.
	StallAfter time.Duration
}

func (o *LockOptions) mode() tenurev1.Mode {
	switch {
	case o.Permits > 0 || o.Limit > 0:
		return tenurev1.Mode_MODE_PERMITS
	case o.Shared:
		return tenurev1.Mode_MODE_SHARED
	default:
		return tenurev1.Mode_MODE_EXCLUSIVE
	}
}

// Lock is a lock, or several, to be asked for. Nothing is asked before one of its methods is called, which may be done again and
// again. Goroutines that ask for the same name in the same session queue up in the client, in order of arrival.
//
// A context that is over gives up: what was or is being granted is given back in the background.
type Lock struct {
	client *Client
	// Nil: each acquire has one of its own.
	session *Session
	names   []string
	options LockOptions
}

// Busy tells that somebody else has the locks.
type Busy struct {
	// Holder is who holds, lingers on, or waits ahead for the first of the names that was not free. Nil: not known.
	Holder *Claim
}

// Lock asks for a lock in a session of its own, which ends with the guard.
func (c *Client) Lock(name string, options *LockOptions) *Lock {
	return c.Locks([]string{name}, options)
}

// Locks asks for several locks at once, all or nothing, with one token: 1 to 16 different names.
func (c *Client) Locks(names []string, options *LockOptions) *Lock {
	return newLock(c, nil, names, options)
}

func newLock(client *Client, session *Session, names []string, options *LockOptions) *Lock {
	lock := &Lock{client: client, session: session, names: names}
	if options != nil {
		lock.options = *options
	}
	return lock
}

// Acquire waits for the locks, for as long as it takes.
func (l *Lock) Acquire(ctx context.Context) (*Guard, error) {
	guard, _, err := l.ask(ctx, engine.Wait{Forever: true})
	return guard, err
}

// TryAcquire tries once. Without an error there is either a guard, or who is in the way.
func (l *Lock) TryAcquire(ctx context.Context) (*Guard, *Busy, error) {
	return l.ask(ctx, engine.Wait{})
}

// AcquireWithin waits for the locks, at most this long (at most 365 days). Without an error there is either a guard, or who is in
// the way.
func (l *Lock) AcquireWithin(ctx context.Context, wait time.Duration) (*Guard, *Busy, error) {
	return l.ask(ctx, engine.Wait{AtMost: wait})
}

func (l *Lock) ask(ctx context.Context, wait engine.Wait) (*Guard, *Busy, error) {
	names, err := checkedNames(l.names)
	if err != nil {
		return nil, nil, err
	}
	if l.options.StallAfter < 0 {
		return nil, nil, &InvalidError{Field: "stall_after", Problem: "it is less than zero"}
	}
	if l.options.Shared && (l.options.Permits > 0 || l.options.Limit > 0) {
		return nil, nil, &InvalidError{Field: "mode", Problem: "either shared or permits"}
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	session := l.session
	if session == nil {
		if session, err = l.client.OpenSession(ctx, &l.options.Session); err != nil {
			return nil, nil, err
		}
	}
	guard, busy, err := l.askIn(ctx, session, names, wait)
	if guard == nil && l.session == nil {
		session.drop()
	}
	return guard, busy, err
}

func (l *Lock) askIn(ctx context.Context, session *Session, names []string, wait engine.Wait) (*Guard, *Busy, error) {
	spec := engine.ClaimSpec{
		Names: names, Mode: l.options.mode(), Permits: l.options.Permits, Limit: l.options.Limit, Priority: l.options.Priority,
		Metadata: l.options.Metadata, MinHold: l.options.MinHold, StallAfter: l.options.StallAfter,
	}
	key := engine.ClaimKey(l.client.link.Key())
	var reply engine.Reply[engine.Attempt]
	l.client.link.With(func(e *engine.Engine, now clock.Moment) {
		reply = e.Acquire(key, session.id, session.presence, spec, wait, l.client.callTimeout(), now)
	})
	attempt, err := await(ctx, reply, func() {
		l.client.link.With(func(e *engine.Engine, now clock.Moment) { e.DropClaim(session.id, key, now) })
	})
	switch {
	case err != nil:
		return nil, nil, err
	case attempt.Hold != nil:
		return &Guard{Hold: &Hold{presence: attempt.Hold}, session: session, claim: key, isOwn: l.session == nil}, nil, nil
	default:
		return nil, &Busy{Holder: optionalClaim(attempt.Holder)}, nil
	}
}

// Do waits for the locks, runs body while they are held, and gives them back.
//
// If the hold is lost meanwhile, body's context is cancelled before the server could give the locks to others, with the loss as
// its cause (context.Cause); Do then waits for body and fails with a *LostError, whatever body answered. Otherwise it answers
// what body does. A failure in giving back is logged only: the body did run under the locks.
func (l *Lock) Do(ctx context.Context, body func(ctx context.Context, hold *Hold) error) error {
	guard, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	return guard.run(ctx, body)
}

// TryDo tries once; if the locks are free, it runs body as Do does. If somebody else has them, that is what it answers.
func (l *Lock) TryDo(ctx context.Context, body func(ctx context.Context, hold *Hold) error) (*Busy, error) {
	guard, busy, err := l.TryAcquire(ctx)
	if guard == nil {
		return busy, err
	}
	return nil, guard.run(ctx, body)
}
