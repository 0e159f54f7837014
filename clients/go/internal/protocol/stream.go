package protocol

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// The most changes in one message. The contract allows 1000, but no message of more than 4 MiB: this many have
	// less.
	changesPerMessage = 200
	// The most bytes of declarations that are sent and not confirmed, but for the last one. A Hello repeats them, within
	// the contract's bound of 1 MiB.
	unconfirmedBytes = 900_000
)

// The current stream, from its Hello on.
type stream struct {
	isOpen bool
	// The number of its Hello among the keep-alives.
	hello uint64
	// When its Hello was queued.
	connected clock.Moment
	// The messages to send. A keep-alive acknowledges the changes before it.
	outgoing []*tenurev1.ConnectRequest
	// Whether the client is to connect to another server.
	isLeft bool
}

func (s *stream) send(request *tenurev1.ConnectRequest) { s.outgoing = append(s.outgoing, request) }

// Connected begins the current stream, on which everything is stated. Returns its epoch.
func (p *Protocol) Connected(now clock.Moment) uint64 {
	// First, because a Hello renews the sessions that are not paused.
	p.checkProgress(now)
	p.Expire(now)
	p.epoch++
	p.stream = stream{isOpen: true, hello: p.keepAlives.add(now), connected: now}
	hello := &tenurev1.Hello{Namespace: p.namespace, ClientId: p.clientID, Epoch: p.epoch}
	p.stream.send(&tenurev1.ConnectRequest{Kind: &tenurev1.ConnectRequest_Hello{Hello: hello}})
	p.planKeepAlive(now)
	var last *tenurev1.Declaration
	for _, number := range slices.Sorted(maps.Keys(p.items)) {
		item := p.items[number]
		switch {
		case item.State != nil:
			hello.Known = append(hello.Known, number)
			if item.paused != 0 {
				hello.Paused = append(hello.Paused, number)
			}
			if item.isWithdrawn && (item.isSession() || !item.Session.isWithdrawn) {
				p.sendWithdrawal(item, now)
			}
		case item.isStated() && item.declaration != last && number <= p.lastSent:
			last = item.declaration
			item.Renewed = now
			// What of it has no state yet.
			declared := proto.CloneOf(last)
			if !item.isSession() {
				declared.Open = nil
			}
			hello.Declared = append(hello.Declared, declared)
		}
	}
	p.sendUnsent(now)
	return p.epoch
}

// Declares what no server knows yet, as far as the bound on what is unconfirmed allows.
func (p *Protocol) sendUnsent(now clock.Moment) {
	for p.stream.isOpen && p.lastSent < p.lastNumber && p.unconfirmed < unconfirmedBytes {
		p.lastSent++
		item := p.items[p.lastSent]
		if item == nil || item.isWithdrawn {
			continue
		}
		item.Renewed = now
		p.sendChange(&tenurev1.Change{Kind: &tenurev1.Change_Declare{Declare: item.declaration}}, now)
		if part := p.items[p.lastSent+1]; part != nil && part.declaration == item.declaration {
			p.lastSent++
			item = part
		}
		item.unconfirmed = proto.Size(item.declaration)
		p.unconfirmed += item.unconfirmed
	}
}

// Disconnected ends the stream of this epoch. No effect if there is a later one.
func (p *Protocol) Disconnected(epoch uint64) {
	if p.epoch == epoch {
		p.stream = stream{}
	}
}

// Superseded is when the stream of this epoch was ended because the client has connected again. If it has not, another
// program uses its id: everything is lost, and the client continues under the new id.
func (p *Protocol) Superseded(epoch uint64, newClientID string) {
	if p.epoch == epoch {
		p.clientID, p.stream = newClientID, stream{}
		for _, session := range p.sessions {
			p.end(session, &Loss{Reason: InUse})
		}
	}
}

// IsLeft is whether to connect to another server, and to use this stream until then.
func (p *Protocol) IsLeft() bool { return p.stream.isLeft }

// HasOutgoing is whether there is a message to send.
func (p *Protocol) HasOutgoing() bool { return len(p.stream.outgoing) > 0 }

// TakeOutgoing is the messages to send on the stream of this epoch.
func (p *Protocol) TakeOutgoing(epoch uint64) []*tenurev1.ConnectRequest {
	if p.epoch != epoch {
		return nil
	}
	outgoing := p.stream.outgoing
	p.stream.outgoing = nil
	return outgoing
}

// The Hello has been reconciled: what it did not state has ended.
func (p *Protocol) welcomed(welcome *tenurev1.Welcome) {
	p.lostRevision = welcome.LostRevision
	p.keepAlives.isUnanswered = false
	for _, item := range p.items {
		if !item.isStated() && item.withdrawnIn < p.epoch {
			p.end(item, &Loss{Reason: Forgotten})
		}
	}
}

// Another server may do what this one cannot: at once if it is the server's own state that it reports, or if no session
// depends on this one.
func (p *Protocol) leaveIfRejected(refusal *tenurev1.Refusal) {
	switch refusal.GetReason() {
	case "DRAINING", "LEASE_LOST":
		p.stream.isLeft = true
	case "STORE_UNAVAILABLE", "OUTCOME_UNKNOWN":
		p.stream.isLeft = p.stream.isLeft || p.keepAlives.shortest == unlimited
	}
}

func (p *Protocol) sendWithdrawal(item *Item, now clock.Moment) {
	p.sendChange(&tenurev1.Change{Kind: &tenurev1.Change_Withdraw{Withdraw: item.number}}, now)
}

// Queues a change, if there is a stream: successive ones go together. A keep-alive after them shows whether the server
// is there.
func (p *Protocol) sendChange(change *tenurev1.Change, now clock.Moment) {
	if !p.stream.isOpen {
		return
	}
	p.Renew(now)
	if count := len(p.stream.outgoing); count > 0 {
		last := p.stream.outgoing[count-1].GetChanges()
		if last != nil && len(last.Changes) < changesPerMessage {
			last.Changes = append(last.Changes, change)
			return
		}
	}
	changes := &tenurev1.Changes{Changes: []*tenurev1.Change{change}}
	p.stream.send(&tenurev1.ConnectRequest{Kind: &tenurev1.ConnectRequest_Changes{Changes: changes}})
}
