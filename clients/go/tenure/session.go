package tenure

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// SessionState is the state of a session.
type SessionState string

const (
	// Healthy is recently renewed.
	Healthy SessionState = "healthy"
	// AtRisk is still valid, but a renewal is overdue (no server answered, or there was no progress): less than a third
	// of the TTL, or of the disconnect grace, is left.
	AtRisk SessionState = "at_risk"
	// Lost is final. The locks may be granted to others.
	Lost SessionState = "lost"
)

// Session is this program's presence at the service. All its holds and waits end with it. It is renewed in the
// background until Close, or until its client is closed.
type Session struct {
	part
	declared *tenurev1.DeclaredSession
}

// OpenSession opens a session, which is then renewed in the background. ErrRefused (a TTL out of bounds, ...),
// ErrUnavailable.
func (c *Client) OpenSession(ctx context.Context, options *SessionOptions) (*Session, error) {
	target := target{client: c}
	if options != nil {
		target.options = *options
	}
	opened, _, err := target.obtain(ctx, &tenurev1.Declaration{}, 0, 0)
	if err != nil {
		return nil, err
	}
	return opened.session, nil
}

// ID is its id.
func (s *Session) ID() string {
	s.client.driver.Lock()
	defer s.client.driver.Unlock()
	return s.item.State.GetOpen().GetSessionId()
}

// Owner is its owner label.
func (s *Session) Owner() string { return s.declared.Owner }

// TTL is how long it outlives this program.
func (s *Session) TTL() time.Duration { return s.declared.Ttl.AsDuration() }

// DisconnectGrace is how long it outlives this program's connection. Zero: until its TTL has passed.
func (s *Session) DisconnectGrace() time.Duration { return s.declared.DisconnectGrace.AsDuration() }

// State is its state, decided by the clock at this moment.
func (s *Session) State() SessionState {
	_, now := s.client.driver.Lock()
	defer s.client.driver.Unlock()
	return s.stateAt(now)
}

func (s *Session) stateAt(now clock.Moment) SessionState {
	switch {
	case s.item.Loss != nil:
		return Lost
	case now >= s.item.AtRiskFrom():
		return AtRisk
	}
	return Healthy
}

// States is its state, now and after each change, until it is lost or the context is done. A slow reader gets the
// latest.
func (s *Session) States(ctx context.Context) iter.Seq[SessionState] {
	return func(yield func(SessionState) bool) {
		var last, state SessionState
		look := func(now clock.Moment) (isDone bool, next clock.Moment) {
			state, next = s.stateAt(now), s.item.AtRiskFrom()
			if state == AtRisk {
				next = s.item.Until()
			}
			return state != last, next
		}
		for last != Lost && s.await(ctx, look) == nil && yield(state) {
			last = state
		}
	}
}

// ValidUntil is when the session is lost without another renewal. In the past once it is lost. Go's clock may stop
// while the machine is suspended; to decide whether the session is valid, call IsValid.
func (s *Session) ValidUntil() time.Time {
	_, now := s.client.driver.Lock()
	defer s.client.driver.Unlock()
	if s.item.Loss != nil {
		return time.Now()
	}
	return time.Now().Add(s.item.Until().Since(now))
}

// Renew renews the session now, and returns when a server has acknowledged that. It is also renewed without calls of
// this: for programs that are to know that it will be valid for nearly its full TTL. ErrLost; a cause of the context.
func (s *Session) Renew(ctx context.Context) (lost error) {
	p, begun := s.client.driver.Lock()
	p.Renew(begun)
	s.client.driver.Unlock()
	awaited := s.await(ctx, func(clock.Moment) (isDone bool, next clock.Moment) {
		lost = lostError(s.item.Loss)
		return lost != nil || s.item.Renewed >= begun, clock.Never
	})
	return cmp.Or(awaited, lost)
}

// Close closes the session, with all its holds and waits. Returns when the server has closed it. ErrUnavailable if no
// server answered in time; the session then ends by its TTL at the latest. A context that is done ends only the wait.
func (s *Session) Close(ctx context.Context) error {
	if err := s.end(ctx); !errors.Is(err, ErrLost) {
		return err
	}
	return nil
}
