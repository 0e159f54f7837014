// Package protocol is the state that a client declares to the service: its sessions, claims and memberships, by number.
// No I/O, no clock and no randomness: the transport passes in the time and the received messages, and takes out the
// messages to send.
//
// Every stream begins with a Hello that states everything, so a lost message, a lost stream and a first connection are
// one code path: what the server has not confirmed is stated again, and what is not stated ends there. A number is
// declared once, and its item remains in the table until the server has reported its end.
//
// Relies on the order of messages within a stream.
package protocol

import (
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// Protocol is the table, and the current stream.
type Protocol struct {
	namespace, clientID string
	epoch               uint64
	// The last number, and the last one that a server may know.
	lastNumber, lastSent uint64
	// The bytes of the declarations that were sent, and that no server has confirmed.
	unconfirmed int
	items       map[uint64]*Item
	sessions    map[uint64]*Item
	// The sessions whose renewal depends on progress.
	watched map[*Item]struct{}
	// Whether one of them is paused.
	isPaused bool
	// The token of a hold from before the last loss of history is less than this one.
	lostRevision uint64
	// No later than the end of any session's validity.
	nextExpiry clock.Moment
	keepAlives keepAlives
	stream     stream
}

// New is a client without anything. The id is random, and used by this program only.
func New(namespace, clientID string) *Protocol {
	return &Protocol{
		namespace: namespace, clientID: clientID, items: map[uint64]*Item{}, sessions: map[uint64]*Item{},
		watched: map[*Item]struct{}{}, nextExpiry: clock.Never, keepAlives: keepAlives{due: clock.Never, shortest: unlimited},
	}
}

// IsEmpty is whether nothing is declared, and the end of everything that was is confirmed.
func (p *Protocol) IsEmpty() bool { return len(p.items) == 0 }

// Declare declares a session, if there is none yet, and the claim or membership in the declaration, if there is one.
// Sets the numbers in the declaration. A session that exists must not be lost.
func (p *Protocol) Declare(session *Item, declaration *tenurev1.Declaration, now clock.Moment) (of, part *Item) {
	if session == nil {
		session = p.add(nil, declaration)
	}
	declaration.Session = session.number
	if len(declaration.Claims)+len(declaration.Memberships) > 0 {
		part = p.add(session, declaration)
	}
	for _, claim := range declaration.Claims {
		claim.Number = part.number
	}
	for _, membership := range declaration.Memberships {
		membership.Number = part.number
	}
	p.sendUnsent(now)
	return session, part
}

func (p *Protocol) add(session *Item, declaration *tenurev1.Declaration) *Item {
	p.lastNumber++
	item := &Item{
		number: p.lastNumber, declaration: declaration, Changed: make(chan struct{}), Lost: make(chan struct{}),
	}
	p.items[item.number] = item
	if session != nil {
		item.Session = session
		session.parts[item] = struct{}{}
	} else {
		item.Session, item.parts, item.needs = item, map[*Item]struct{}{}, map[*Item]struct{}{}
		p.sessions[item.number] = item
	}
	return item
}

// Need makes the renewal of a session depend on the progress of this item, from when it is open or held: on a tick in
// each interval.
func (p *Protocol) Need(item *Item, stallAfter time.Duration) {
	if stallAfter > 0 {
		item.stallAfter = stallAfter
		item.Session.needs[item] = struct{}{}
		p.watched[item.Session] = struct{}{}
	}
}

// Withdraw ends an item: a session with everything in it. No effect if it has ended.
func (p *Protocol) Withdraw(item *Item, now clock.Moment) {
	if item.IsEnded || item.isWithdrawn {
		return
	}
	loss := &Loss{Reason: Released}
	if item.isSession() {
		loss.Reason = Closed
	}
	p.markWithdrawn(item, loss)
	if item.number > p.lastSent {
		// A session that was declared with it is still to be sent.
		item.declaration.Claims, item.declaration.Memberships = nil, nil
		p.end(item, &Loss{Reason: Forgotten})
	} else {
		p.sendWithdrawal(item, now)
	}
}

func (p *Protocol) markWithdrawn(item *Item, loss *Loss) {
	if !item.isWithdrawn {
		item.isWithdrawn, item.withdrawnIn = true, p.epoch
		delete(item.Session.needs, item)
		item.lose(loss)
	}
	for part := range item.parts {
		p.markWithdrawn(part, loss)
	}
}

// Invalidate makes an item lost to this program, while the server still has it.
func (p *Protocol) Invalidate(item *Item) { item.lose(&Loss{Reason: Released}) }

// WithdrawAll ends everything.
func (p *Protocol) WithdrawAll(now clock.Moment) {
	for _, session := range p.sessions {
		p.Withdraw(session, now)
	}
}

// Receive processes a message from the stream of this epoch.
func (p *Protocol) Receive(epoch uint64, response *tenurev1.ConnectResponse, now clock.Moment) {
	// First, because a session that was valid too long ago stays lost, whatever has arrived.
	p.Expire(now)
	if !p.stream.isOpen || p.epoch != epoch {
		return
	}
	switch kind := response.Kind.(type) {
	case *tenurev1.ConnectResponse_KeptAlive:
		p.keptAlive(kind.KeptAlive.Number)
	case *tenurev1.ConnectResponse_Welcome:
		p.welcomed(kind.Welcome)
	case *tenurev1.ConnectResponse_States:
		for _, state := range kind.States.States {
			if item := p.items[state.Number]; item != nil {
				p.state(item, state, now)
			}
		}
		p.sendUnsent(now)
	case *tenurev1.ConnectResponse_GoingAway:
		p.stream.isLeft = true
	}
}

// Processes the state of an item. What is withdrawn has only an end.
func (p *Protocol) state(item *Item, state *tenurev1.State, now clock.Moment) {
	p.unconfirmed, item.unconfirmed = p.unconfirmed-item.unconfirmed, 0
	token := item.token()
	switch kind := state.Kind.(type) {
	case *tenurev1.State_Ended:
		p.end(item, lossOf(kind.Ended))
		return
	case *tenurev1.State_Rejected, *tenurev1.State_Busy:
		p.leaveIfRejected(state.GetRejected())
		item.State = state
		// What was declared with a session is absent for the same reason.
		for part := range item.parts {
			part.State = state
		}
		p.end(item, &Loss{Reason: Forgotten})
		return
	case nil:
		return
	}
	switch {
	case token != 0 && state.GetHeld().GetToken() != token:
		// The database has lost the history in which the claim was granted: others may have held its locks since. It
		// was not released, even if it is withdrawn.
		item.isWithdrawn = false
		p.abandon(item, &Loss{Reason: Forgotten}, now)
	case !item.isWithdrawn:
		if !item.isGranted() {
			// Progress is due from the grant on.
			item.Tick(now)
		}
		item.State, item.Since = state, now
		if open := state.GetOpen(); open != nil && item.isSession() {
			p.opened(item, open, now)
		}
		item.Notify()
	}
}

// Ends what this client must not use any more. The server may still have it: others need not wait for its end.
func (p *Protocol) abandon(item *Item, loss *Loss, now clock.Moment) {
	p.end(item, loss)
	p.sendWithdrawal(item, now)
}

// Ends an item with everything in it.
func (p *Protocol) end(item *Item, loss *Loss) {
	p.unconfirmed, item.unconfirmed = p.unconfirmed-item.unconfirmed, 0
	delete(p.items, item.number)
	delete(p.sessions, item.number)
	delete(p.watched, item)
	delete(item.Session.needs, item)
	delete(item.Session.parts, item)
	item.IsEnded = true
	isForgottenByDatabase := item.token() != 0 && item.token() < p.lostRevision
	if !item.isWithdrawn || !loss.isWithdrawal(isForgottenByDatabase) {
		item.End = loss
	}
	item.lose(loss)
	for part := range item.parts {
		p.end(part, loss)
	}
}
