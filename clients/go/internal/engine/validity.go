package engine

import (
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
)

const (
	// By how much the clocks of this machine and of the server may differ in rate: one part in a hundred.
	driftDivisor = 100
	// What is taken off besides, so that the program is told before the deadline and not at it: a twentieth of it ...
	marginDivisor = 20
	// ... but at least this (timers are not sharper than a few milliseconds) ...
	marginMin = 10 * time.Millisecond
	// ... and at most this.
	marginMax = 500 * time.Millisecond
	// A session is at risk when this part of its window is left: one renewal was missed.
	riskDivisor = 3
	// Renewals are this many to a window.
	renewalsPerWindow = 3
	// How long an answer to a renewal may take before the stream counts as broken, as a part of the window. Together with the
	// time between renewals it leaves 5/12 of the window to attach elsewhere.
	silenceDivisor = 4
)

// Phase tells how far along its validity a session is.
type Phase int

const (
	// Healthy is renewed lately.
	Healthy Phase = iota
	// AtRisk is valid, but a renewal is overdue.
	AtRisk
	// Over is when the server may give its locks away. Never left again.
	Over
)

// Validity of one session: pure arithmetic. Without a disconnect grace a session is good for its TTL from the sending of the
// last renewal that was answered. With one it ends that long after the server has seen its stream break, and the client may
// be the last to see that: so it is good for no longer than the grace from then. What is shorter of the two is its window, by
// which all the rest is measured. Once over it stays over: a late answer revives nothing.
type Validity struct {
	ttl time.Duration
	// Zero: none.
	grace time.Duration
	// When the last command was sent that was answered.
	heard clock.Moment
	// When the TTL ends.
	expires clock.Moment
	over    bool
}

// NewValidity is that of a session that was opened by a command sent at this moment.
func NewValidity(ttl, grace time.Duration, sent clock.Moment) Validity {
	return Validity{ttl: ttl, grace: grace, heard: sent, expires: deadline(ttl, sent)}
}

func (v *Validity) renewed(ttl time.Duration, sent, now clock.Moment) {
	v.attached(ttl, v.grace, sent, now)
}

func (v *Validity) attached(ttl, grace time.Duration, sent, now clock.Moment) {
	if v.phase(now) == Over {
		return
	}
	v.ttl, v.grace = ttl, grace
	// Answers may overtake each other; the one that was asked for last tells most.
	v.heard = max(v.heard, sent)
	// A TTL that was promised before stands. A grace does not: with the new stream the new one is in force.
	v.expires = max(v.expires, deadline(ttl, sent))
	v.phase(now)
}

// Where it stands.
func (v *Validity) phase(now clock.Moment) Phase {
	if now >= v.until() {
		v.over = true
	}
	switch {
	case v.over:
		return Over
	case now >= v.riskFrom():
		return AtRisk
	default:
		return Healthy
	}
}

// When the phase changes next if nothing is heard. False if it is over.
func (v *Validity) nextChange(now clock.Moment) (clock.Moment, bool) {
	switch v.phase(now) {
	case Healthy:
		return v.riskFrom(), true
	case AtRisk:
		return v.until(), true
	default:
		return 0, false
	}
}

// The moment at which it is over if nothing is heard.
func (v *Validity) until() clock.Moment {
	if v.grace == 0 {
		return v.expires
	}
	return min(v.expires, deadline(v.grace, v.heard))
}

// For how long a renewal is good: the TTL, or the disconnect grace if there is one and it is shorter.
func (v *Validity) window() time.Duration {
	if v.grace == 0 {
		return v.ttl
	}
	return min(v.ttl, v.grace)
}

func (v *Validity) riskFrom() clock.Moment {
	return max(0, v.until()-clock.Moment(v.window()/riskDivisor))
}

// The time between two renewals.
func renewalPeriod(window time.Duration) time.Duration {
	return window / renewalsPerWindow
}

// How long a renewal may stay unanswered before the stream counts as broken.
func silenceLimit(window time.Duration) time.Duration {
	return window / silenceDivisor
}

func deadline(window time.Duration, sent clock.Moment) clock.Moment {
	margin := min(max(window/marginDivisor, marginMin), marginMax)
	return sent.After(max(0, window-window/driftDivisor-margin))
}
