package tenure

import (
	"context"
	"slices"
	"time"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// LockOptions are how to request locks. The zero value and nil are the defaults. The server checks the bounds.
type LockOptions struct {
	// Session is the options of the session that is opened for the request. No effect on a request in an existing
	// session.
	Session SessionOptions
	// Shared shares the locks with other shared requests: readers, as opposed to a writer. Later readers wait behind a
	// waiting writer. Default: exclusive.
	Shared bool
	// Permits acquires this number of permits of each lock (1 to 1,000,000), out of the lock's limit: a semaphore.
	// Default: exclusive; 1 with a Limit.
	Permits uint32
	// Limit of permits that this program expects (1 to 1,000,000): refused if the lock has another one. Default: the
	// lock's limit; refused if it has none.
	Limit uint32
	// Priority among waiters, higher first: -1000 to 1000. Default: 0.
	Priority int32
	// Metadata are free labels on the claim. At most 4096 bytes in all, keys and values together. Default: none.
	Metadata map[string]string
	// MinHold is for how long after the grant, at least, no claim is granted these locks again, even if they are
	// released earlier. For jobs that are shorter than the clock skew of the hosts that start them. At most 24 h.
	// Default: 0.
	MinHold time.Duration
	// StallAfter renews the session only while the grant, or the last Hold.Tick, is less than this ago. More than zero.
	// Hung work loses its locks within this and the TTL together, like a program that died, with LostStalled. A session
	// is renewed as a whole: its other holds are lost, too. Default: renewed while the client runs.
	StallAfter time.Duration
}

// Lock is a request for one or more locks, all or nothing. Each call of its methods makes a claim of its own, and
// claims exclude each other, also in one session: pass on the Hold instead of acquiring again.
//
// A context that is done cancels the claim: a place in the queue is left, and a grant is released, in the background.
type Lock struct {
	target  target
	names   []string
	options LockOptions
}

// Lock requests a lock in a session of its own, which ends with the guard.
func (c *Client) Lock(name string, options *LockOptions) *Lock {
	return c.Locks([]string{name}, options)
}

// Locks requests several locks at once, all or nothing, with one token: 1 to 16 different names.
func (c *Client) Locks(names []string, options *LockOptions) *Lock {
	return newLock(c, nil, names, options)
}

// Lock requests a lock in this session.
func (s *Session) Lock(name string, options *LockOptions) *Lock {
	return s.Locks([]string{name}, options)
}

// Locks requests several locks at once, all or nothing, with one token: 1 to 16 different names.
func (s *Session) Locks(names []string, options *LockOptions) *Lock {
	return newLock(s.client, s, names, options)
}

func newLock(client *Client, session *Session, names []string, options *LockOptions) *Lock {
	lock := &Lock{names: slices.Sorted(slices.Values(names))}
	if options != nil {
		lock.options = *options
	}
	lock.target = target{client: client, session: session, options: lock.options.Session}
	return lock
}

// Acquire waits for the locks, for as long as it takes. ErrLost if the session was lost while waiting, ErrRefused, and
// ErrUnavailable if no session could be opened in time.
func (l *Lock) Acquire(ctx context.Context) (*Guard, error) {
	guard, _, err := l.request(ctx, forever)
	return guard, err
}

// TryAcquire makes one attempt. Without an error there is either a guard, or the claim that is in the way.
func (l *Lock) TryAcquire(ctx context.Context) (*Guard, *tenurev1.BusyState, error) {
	return l.request(ctx, 0)
}

// AcquireWithin waits for the locks, at most this long. Without an error there is either a guard, or the claim that is
// in the way.
func (l *Lock) AcquireWithin(ctx context.Context, wait time.Duration) (*Guard, *tenurev1.BusyState, error) {
	return l.request(ctx, max(0, wait))
}

func (l *Lock) request(ctx context.Context, wait time.Duration) (*Guard, *tenurev1.BusyState, error) {
	options := l.options
	// What is not worth a request; the server checks all bounds.
	err := check(
		rule{len(l.names) == 0, "names", "there are none"},
		rule{len(slices.Compact(slices.Clone(l.names))) < len(l.names), "names", "one is there twice"},
		rule{options.Shared && (options.Permits > 0 || options.Limit > 0), "mode", "either shared or permits"},
	)
	if err != nil {
		return nil, nil, err
	}
	claim := &tenurev1.DeclaredClaim{
		Names: l.names, Queue: wait > 0, Permits: options.Permits, Limit: options.Limit, Priority: options.Priority,
		MinHold: optionalDuration(options.MinHold), Metadata: options.Metadata,
	}
	switch {
	case options.Permits > 0 || options.Limit > 0:
		claim.Mode = tenurev1.Mode_MODE_PERMITS
	case options.Shared:
		claim.Mode = tenurev1.Mode_MODE_SHARED
	}
	declaration := &tenurev1.Declaration{Claims: []*tenurev1.DeclaredClaim{claim}}
	part, state, err := l.target.obtain(ctx, declaration, options.StallAfter, wait)
	switch {
	case err != nil:
		return nil, nil, err
	case part != nil:
		return &Guard{&Hold{part, l.names, state.GetHeld().GetToken()}}, nil, nil
	case state.GetBusy() != nil:
		return nil, state.GetBusy(), nil
	default:
		return nil, &tenurev1.BusyState{Holder: state.GetWaiting().GetHolder()}, nil
	}
}

// Do waits for the locks, runs body while they are held, and releases them.
//
// If the hold is lost meanwhile, body's context is cancelled before the server could grant the locks to others, with
// the loss as its cause (context.Cause); Do then waits for body and fails with a *LostError, whatever body returned.
// Otherwise it returns what body does. An error of the release is only logged: the body did run under the locks.
func (l *Lock) Do(ctx context.Context, body func(ctx context.Context, hold *Hold) error) error {
	guard, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	return guard.run(ctx, body)
}

// TryDo makes one attempt; if the locks are free, it runs body as Do does. Otherwise it returns the claim that is in
// the way.
func (l *Lock) TryDo(
	ctx context.Context, body func(ctx context.Context, hold *Hold) error,
) (*tenurev1.BusyState, error) {
	guard, busy, err := l.TryAcquire(ctx)
	if guard == nil {
		return busy, err
	}
	return nil, guard.run(ctx, body)
}
