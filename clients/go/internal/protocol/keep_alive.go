package protocol

import (
	"math"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// Without a reply to a keep-alive or a Hello for this long, the client connects to another server.
	patience = time.Second
	// The same as a part of the shortest time for which a session is valid, if that is less.
	patienceDivisor = 4
	// How often it is checked, while there is no progress, whether there is again.
	lookForProgress = 20 * time.Millisecond
	// Longer than any session is valid.
	unlimited time.Duration = math.MaxInt64
)

// The keep-alives of the current stream. A Hello renews like a keep-alive, and has a number like one.
type keepAlives struct {
	// The number of the last one.
	number uint64
	// When that was queued, which is not after it is sent.
	sent clock.Moment
	// Whether it has no acknowledgement. There is no other before it has one.
	isUnanswered bool
	// When the next one is due, if a session needs it.
	due clock.Moment
	// The shortest time for which a session is valid.
	shortest time.Duration
}

func (k *keepAlives) add(now clock.Moment) uint64 {
	k.number++
	k.sent, k.isUnanswered = now, true
	return k.number
}

// When the server has not replied for too long.
func (k *keepAlives) patienceEnds() clock.Moment {
	return k.sent.After(min(patience, k.shortest/patienceDivisor))
}

// Takes an open session into account that was renewed then.
func (k *keepAlives) include(session *Item, renewed clock.Moment) {
	if !session.isWithdrawn && session.paused == 0 {
		k.due = min(k.due, renewed.After(session.State.GetOpen().GetRenewAfter().AsDuration()))
		k.shortest = min(k.shortest, session.validFor())
	}
}

// NextTimeout is when to call HandleTimeout next.
func (p *Protocol) NextTimeout(now clock.Moment) clock.Moment {
	next := p.nextExpiry
	switch {
	case !p.stream.isOpen:
	case !p.keepAlives.isUnanswered:
		next = min(next, p.keepAlives.due)
	case !p.stream.isLeft:
		next = min(next, p.keepAlives.patienceEnds())
	}
	if p.isPaused {
		next = min(next, now.After(lookForProgress))
	}
	return next
}

// HandleTimeout does what is due.
func (p *Protocol) HandleTimeout(now clock.Moment) {
	// First, because a keep-alive that is due must not renew a session without progress.
	p.checkProgress(now)
	p.Expire(now)
	switch {
	case !p.stream.isOpen:
	case p.keepAlives.isUnanswered:
		p.stream.isLeft = p.stream.isLeft || p.keepAlives.patienceEnds() <= now
	case p.keepAlives.due <= now:
		keepAlive := &tenurev1.KeepAlive{Number: p.keepAlives.add(now)}
		p.stream.send(&tenurev1.ConnectRequest{Kind: &tenurev1.ConnectRequest_KeepAlive{KeepAlive: keepAlive}})
		p.planKeepAlive(now)
	}
}

// Pauses the sessions without progress, and resumes the others.
func (p *Protocol) checkProgress(now clock.Moment) {
	p.isPaused = false
	for session := range p.watched {
		isStalled := false
		for item := range session.needs {
			isStalled = isStalled || item.isStalled(now)
		}
		p.isPaused = p.isPaused || isStalled
		next := p.keepAlives.number + 1
		switch {
		case isStalled && session.paused == 0:
			session.paused = next
			p.sendChange(&tenurev1.Change{Kind: &tenurev1.Change_Pause{Pause: session.number}}, now)
		case !isStalled && session.paused != 0:
			session.renewedFrom, session.paused = next, 0
			p.sendChange(&tenurev1.Change{Kind: &tenurev1.Change_Resume{Resume: session.number}}, now)
		}
	}
}

// Renew makes the next keep-alive due now: not sent at once, because a session without progress is not to be renewed by
// it.
func (p *Protocol) Renew(now clock.Moment) { p.keepAlives.due = now }

// Plans the next keep-alive after one that is sent now.
func (p *Protocol) planKeepAlive(now clock.Moment) {
	p.keepAlives.due, p.keepAlives.shortest = clock.Never, unlimited
	for _, session := range p.sessions {
		if session.isGranted() {
			p.keepAlives.include(session, now)
		}
	}
}

// A keep-alive was acknowledged.
func (p *Protocol) keptAlive(number uint64) {
	if number != p.keepAlives.number {
		return
	}
	p.keepAlives.isUnanswered = false
	for _, session := range p.sessions {
		// A session that this stream has not reported may have ended.
		if session.epoch == p.epoch && session.isRenewedBy(number) {
			session.Renewed = max(session.Renewed, p.keepAlives.sent)
			session.Notify()
		}
	}
}

// Whether the keep-alive of this number renews it.
func (i *Item) isRenewedBy(number uint64) bool {
	return number >= i.renewedFrom && (i.paused == 0 || number < i.paused)
}

// A session is open, according to the current stream.
func (p *Protocol) opened(session *Item, open *tenurev1.OpenState, now clock.Moment) {
	if session.isRenewedBy(p.stream.hello) {
		// If it was declared on this stream after the Hello, that declaration is later.
		session.Renewed = max(session.Renewed, p.stream.connected)
	}
	session.epoch = p.epoch
	p.keepAlives.include(session, session.Renewed)
	p.nextExpiry = min(p.nextExpiry, session.Until())
	for part := range session.parts {
		part.Notify()
	}
	// The reply may have taken longer than the session is valid.
	p.Expire(now)
}

// Expire ends the sessions that are lost, finally, since the server may have granted their locks to others.
func (p *Protocol) Expire(now clock.Moment) {
	if p.nextExpiry > now {
		return
	}
	p.nextExpiry = clock.Never
	for _, session := range p.sessions {
		switch {
		case session.isWithdrawn || !session.isGranted():
		case now < session.Until():
			p.nextExpiry = min(p.nextExpiry, session.Until())
		default:
			loss := &Loss{Reason: Unrenewed}
			if session.paused != 0 {
				loss.Reason = Stalled
			}
			p.abandon(session, loss, now)
		}
	}
}

// ShortestValidity is the shortest time for which a session is valid; very long if there is none.
func (p *Protocol) ShortestValidity() time.Duration { return p.keepAlives.shortest }
