package protocol

import (
	"sync/atomic"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// Item is one session, claim or membership, from its declaration to its end. Used under the lock of the driver, except
// for Lost and Tick.
type Item struct {
	number uint64
	// Session is its session: itself, if it is one.
	Session *Item
	// State is the last one that the server has reported; nil before.
	State *tenurev1.State
	// Since is when that was received.
	Since clock.Moment
	// Loss is why it is lost to this program, finally; nil if it is not.
	Loss *Loss
	// IsEnded is whether its end is confirmed.
	IsEnded bool
	// End is why it has ended, unless because this client withdrew it: then nil.
	End *Loss
	// Changed is closed and replaced at each change.
	Changed chan struct{}
	// Lost is closed when it is lost.
	Lost chan struct{}

	// What declares it, to be stated until its state is received.
	declaration *tenurev1.Declaration
	// The bytes of that, if it was sent and no server has confirmed it. What was declared together counts as the part.
	unconfirmed int
	isWithdrawn bool
	// The epoch in which it was withdrawn.
	withdrawnIn uint64
	// The progress on which the renewal of its session depends: a tick within each interval; 0: it does not.
	stallAfter time.Duration
	ticked     atomic.Int64

	// The claims and memberships of a session; nil if it is none.
	parts map[*Item]struct{}
	// Those of them, and the session, on whose progress its renewal depends.
	needs map[*Item]struct{}
	// Renewed is when the last acknowledged renewal of a session was sent; before it is open, its declaration.
	Renewed clock.Moment
	// Keep-alives from this one on renew it.
	renewedFrom uint64
	// Keep-alives from this one on do not renew it; 0: all do.
	paused uint64
	// The epoch of the last stream that reported it as open.
	epoch uint64
}

// Loss is why something is lost.
type Loss struct {
	Reason string
	// State is what the server reported, with Ended.
	State *tenurev1.EndedState
}

// The reasons of a loss.
const (
	// Unrenewed is when no renewal was acknowledged in time.
	Unrenewed = "unrenewed"
	// Stalled is when no renewal was sent, because the program made no progress.
	Stalled = "stalled"
	// Forgotten is when the server does not have it, or no longer.
	Forgotten = "forgotten"
	// InUse is when another program uses the client's id.
	InUse = "in_use"
	// Released is when this program withdrew the claim or membership.
	Released = "released"
	// Closed is when this program withdrew the session.
	Closed = "closed"
	// Ended is when the server reported its end.
	Ended = "ended"
)

func lossOf(ended *tenurev1.EndedState) *Loss {
	if ended.Reason == tenurev1.EndReason_END_REASON_UNSPECIFIED {
		return &Loss{Reason: Forgotten}
	}
	return &Loss{Reason: Ended, State: ended}
}

// Whether a withdrawal leads to such an end.
func (l *Loss) isWithdrawal(isForgottenByDatabase bool) bool {
	switch l.State.GetReason() {
	case tenurev1.EndReason_END_REASON_RELEASED, tenurev1.EndReason_END_REASON_TRANSFERRED,
		tenurev1.EndReason_END_REASON_CLOSED:
		return true
	}
	return l.Reason == Forgotten && !isForgottenByDatabase
}

func (i *Item) isSession() bool { return i.Session == i }

// The fencing token of a held claim; else 0.
func (i *Item) token() uint64 { return i.State.GetHeld().GetToken() }

func (i *Item) isGranted() bool { return i.State.GetOpen() != nil || i.State.GetHeld() != nil }

// Whether a Hello states it, if it was sent. What was withdrawn before a server confirmed it is not; what was withdrawn
// later is, so that the reason of its end is reported.
func (i *Item) isStated() bool { return !i.isWithdrawn || i.State != nil }

func (i *Item) lose(loss *Loss) {
	if i.Loss == nil {
		i.Loss = loss
		close(i.Lost)
	}
	i.Notify()
}

// Notify wakes what waits for a change.
func (i *Item) Notify() {
	close(i.Changed)
	i.Changed = make(chan struct{})
}

// Tick reports progress.
func (i *Item) Tick(now clock.Moment) { i.ticked.Store(int64(now)) }

func (i *Item) isStalled(now clock.Moment) bool {
	return i.isGranted() && now.Since(clock.Moment(i.ticked.Load())) >= i.stallAfter
}
