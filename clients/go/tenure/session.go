package tenure

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/internal/engine"
)

const defaultTTL = 10 * time.Second

// SessionOptions tell how to open a session. The zero value and nil are the defaults. The server checks the bounds.
type SessionOptions struct {
	// TTL is how long the session outlives this program if that dies: 500 ms to 24 h unless the server is configured otherwise.
	// Default: 10 s.
	TTL time.Duration
	// DisconnectGrace is how long the session outlives this program's connection: 100 ms to the TTL. With 300 ms, what a crashed
	// program held is with the next one within 350 ms, however long the TTL is. The client holds itself to the same rule: a
	// session that heard nothing for the grace is lost to it for good. So choose it longer than it takes to reach another server,
	// or, if there is only one, than that takes to start. Default: none, the TTL alone counts.
	DisconnectGrace time.Duration
	// Owner is who this is, for people: a host, a pod, a job. At most 255 bytes. Default: empty.
	Owner string
	// Metadata are free labels. At most 4096 bytes in all. Default: none.
	Metadata map[string]string
	// ID of the session: 1 to 128 bytes. Two programs must never use the same id at the same time: what one holds the other would
	// hold too. Default: a fresh one.
	ID string
	// StallAfter renews the session only while the last Session.Tick is less than this ago, counted from the opening until the
	// first. Without ticks all that the session holds is lost, and its places in queues. Default: renewed while the client runs.
	StallAfter time.Duration
}

// SessionState is where a session stands.
type SessionState int

const (
	// Healthy is renewed lately.
	Healthy SessionState = iota
	// AtRisk is still valid, but a renewal is overdue: less than a third of the TTL is left, or of the disconnect grace.
	AtRisk
	// Lost is over, for good. The locks may be with others.
	Lost
)

// String is the state's word: healthy, at_risk or lost.
func (s SessionState) String() string {
	return [...]string{"healthy", "at_risk", "lost"}[s]
}

// Session is this program's presence at the service. What it holds and waits for ends when it ends. It keeps itself alive in
// the background until Close, or until its client is closed.
type Session struct {
	client   *Client
	id       string
	owner    string
	presence *engine.Presence
	progress *engine.Progress
}

// OpenSession opens a session, which then keeps itself alive.
func (c *Client) OpenSession(ctx context.Context, options *SessionOptions) (*Session, error) {
	var of SessionOptions
	if options != nil {
		of = *options
	}
	if of.StallAfter < 0 {
		return nil, &InvalidError{Field: "stall_after", Problem: "it is less than zero"}
	}
	if of.TTL == 0 {
		of.TTL = defaultTTL
	}
	if of.ID == "" {
		of.ID = freshID()
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	spec := engine.OpenSpec{
		TTL: of.TTL, DisconnectGrace: of.DisconnectGrace, Owner: of.Owner, Metadata: of.Metadata,
	}
	var reply engine.Reply[engine.Opened]
	c.link.With(func(e *engine.Engine, now clock.Moment) {
		if of.StallAfter > 0 {
			spec.Progress = engine.NewProgress(of.StallAfter, now)
		}
		reply = e.Open(of.ID, spec, now.After(c.callTimeout()), now)
	})
	opened, err := await(ctx, reply, func() {
		c.link.With(func(e *engine.Engine, now clock.Moment) { e.CancelOpen(of.ID, reply, now) })
	})
	if err != nil {
		return nil, err
	}
	return &Session{client: c, id: of.ID, owner: opened.Owner, presence: opened.Presence, progress: spec.Progress}, nil
}

// ID is the session's id.
func (s *Session) ID() string { return s.id }

// Owner is its owner label.
func (s *Session) Owner() string { return s.owner }

// TTL is what the server granted.
func (s *Session) TTL() time.Duration { return s.presence.TTL() }

// DisconnectGrace is what the server granted. Zero: none.
func (s *Session) DisconnectGrace() time.Duration { return s.presence.DisconnectGrace() }

// State tells where the session stands, decided by the clock at this very moment.
func (s *Session) State() SessionState {
	phase, _ := s.presence.Check(clock.Now())
	return SessionState(phase)
}

// States tells where the session stands, now and after each change, until it is lost or the context is over. Who is slow sees
// the latest.
func (s *Session) States(ctx context.Context) iter.Seq[SessionState] {
	return func(yield func(SessionState) bool) {
		for told := SessionState(-1); told != Lost; {
			changed := s.presence.Changed()
			if state := s.State(); state != told {
				told = state
				if !yield(state) {
					return
				}
				continue
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// IsValid tells whether the server cannot have given its locks away, decided by the clock at this very moment: a process that
// was paused for too long gets false on waking. Once false it stays so.
func (s *Session) IsValid() bool { return s.State() != Lost }

// ValidUntil is when the session is lost if nothing more is heard from the server. In the past once it is lost. To decide
// whether it is valid, ask IsValid: the runtime's clock may stand still while the machine is suspended.
func (s *Session) ValidUntil() time.Time {
	if !s.IsValid() {
		return time.Now()
	}
	return time.Now().Add(s.presence.Until().Since(clock.Now()))
}

// Lost is closed when the session is lost: before the server could give its locks away, or as soon as the server says so.
func (s *Session) Lost() <-chan struct{} { return s.presence.Lost() }

// Err is nil while the session is valid, and then a *LostError.
func (s *Session) Err() error {
	if _, lost := s.presence.Check(clock.Now()); lost != nil {
		return lostError(lost)
	}
	return nil
}

// Tick says that the program gets on: see SessionOptions.StallAfter, without which it does nothing.
func (s *Session) Tick() {
	if s.progress != nil {
		s.progress.Tick(clock.Now())
	}
}

// Close closes the session, and with it all that it holds and waits for. It returns when the server has done so, or
// ErrUnavailable if no server answered in time; the session then ends by its TTL at the latest. A context that is over ends only
// the waiting.
func (s *Session) Close(ctx context.Context) error {
	var reply engine.Reply[engine.None]
	s.client.link.With(func(e *engine.Engine, now clock.Moment) {
		reply = e.Close(s.id, s.presence, now.After(s.client.callTimeout()), now)
	})
	_, err := await(ctx, reply, func() {})
	return err
}

// Closes it without waiting.
func (s *Session) drop() {
	s.client.link.With(func(e *engine.Engine, now clock.Moment) { e.CloseUnasked(s.id, s.presence, now) })
}

// Lock asks for a lock in this session. options.Session has no effect.
func (s *Session) Lock(name string, options *LockOptions) *Lock {
	return s.Locks([]string{name}, options)
}

// Locks asks for several locks at once, all or nothing, with one token: 1 to 16 different names.
func (s *Session) Locks(names []string, options *LockOptions) *Lock {
	return newLock(s.client, s, names, options)
}

func checkedNames(names []string) ([]string, error) {
	sorted := slices.Sorted(slices.Values(names))
	if len(sorted) == 0 {
		return nil, &InvalidError{Field: "names", Problem: "there are none"}
	}
	for place := range sorted[1:] {
		if sorted[place] == sorted[place+1] {
			return nil, &InvalidError{Field: "names", Problem: fmt.Sprintf("%q is there twice", sorted[place])}
		}
	}
	return sorted, nil
}
