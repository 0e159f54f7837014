package tenure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
)

const (
	// Pauses between tries of what goes on for ever: from this ...
	firstPause = 50 * time.Millisecond
	// ... to this.
	longestPause = 500 * time.Millisecond
)

// Locker is a lock as a sync.Locker, for code that expects one. It cannot tell when the lock is lost: prefer Do, and look at
// Hold otherwise.
type Locker struct {
	ctx  context.Context
	lock *Lock

	mu    sync.Mutex
	guard *Guard
}

var _ sync.Locker = (*Locker)(nil)

// Locker makes a sync.Locker of it. Its Lock panics when the context is over and when the server refuses, because it cannot
// answer an error; failures that pass, it waits out.
func (l *Lock) Locker(ctx context.Context) *Locker { return &Locker{ctx: ctx, lock: l} }

// Lock waits for the lock.
func (l *Locker) Lock() {
	pauses := backoff.New(firstPause, longestPause)
	for {
		guard, err := l.lock.Acquire(l.ctx)
		if err == nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.guard = guard
			return
		}
		// A session of its own that was lost while it waited: the next try opens another.
		mayTryAgain := IsTransient(err) || l.lock.session == nil && errors.Is(err, ErrLost)
		if !mayTryAgain || !pause(l.ctx, pauses.Next()) {
			panic(fmt.Sprintf("tenure: lock %q: %v", l.lock.names, err))
		}
	}
}

// Unlock gives the lock back. It does not matter whether it was lost before.
func (l *Locker) Unlock() {
	l.mu.Lock()
	guard := l.guard
	l.guard = nil
	l.mu.Unlock()
	if guard == nil {
		panic("tenure: unlock of a lock that is not locked")
	}
	if err := guard.Release(context.WithoutCancel(l.ctx)); err != nil {
		guard.session.client.options.Logger.Warn("the lock was not given back cleanly", "error", err)
	}
}

// Hold is what is held between Lock and Unlock; nil else.
func (l *Locker) Hold() *Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.guard == nil {
		return nil
	}
	return l.guard.Hold
}
