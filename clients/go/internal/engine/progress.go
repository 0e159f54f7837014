package engine

import (
	"sync/atomic"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
)

const (
	// How often in the time between two renewals it is looked whether there is progress again ...
	looksPerPeriod = 8
	// ... and no oftener than this.
	shortestLook = 5 * time.Millisecond
)

// Progress is the program's own word that it goes on, without which a session is not renewed.
type Progress struct {
	within time.Duration
	last   atomic.Int64
}

// NewProgress takes a tick in each so long; the first was now.
func NewProgress(within time.Duration, now clock.Moment) *Progress {
	p := &Progress{within: within}
	p.Tick(now)
	return p
}

// Tick says that the program gets on.
func (p *Progress) Tick(now clock.Moment) { p.last.Store(int64(now)) }

// Whether the last tick is too long ago, for something that began at since.
func (p *Progress) isStalled(since, now clock.Moment) bool {
	return now.Since(max(since, clock.Moment(p.last.Load()))) >= p.within
}

// The progress that the renewal of a session depends on: all of it.
type needed struct {
	opened    clock.Moment
	bySession *Progress
	byHolds   map[ClaimKey]*Progress
}

func (n *needed) isMissing(now clock.Moment) bool {
	if n.bySession != nil && n.bySession.isStalled(n.opened, now) {
		return true
	}
	for _, progress := range n.byHolds {
		// Its progress began with its grant.
		if progress.isStalled(0, now) {
			return true
		}
	}
	return false
}

// Whether nothing may be said that renews the session: no keep-alive, no attaching, no acquire. Its time then runs out as that
// of any session that is not renewed.
func (l *live) isHeldBack(now clock.Moment) bool {
	stalled := l.needed.isMissing(now)
	l.presence.setStalled(stalled)
	return stalled
}

// If nothing may be said that renews the session: when to look again.
func (l *live) heldBackUntil(now clock.Moment) (clock.Moment, bool) {
	if !l.isHeldBack(now) {
		return 0, false
	}
	return now.After(max(renewalPeriod(l.presence.window())/looksPerPeriod, shortestLook)), true
}
