package engine

import (
	"sync"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
)

// Presence is one session's validity, decided by the clock at the moment of asking. Handles and the engine share it.
type Presence struct {
	mu       sync.Mutex
	validity Validity
	phase    Phase
	lost     *Lost
	// Whether a renewal is due and held back.
	stalled bool
	// Closed and replaced at each change.
	changed chan struct{}
	// Closed when it is lost.
	over chan struct{}
}

// NewPresence is that of a session that was opened by a command sent at this moment.
func NewPresence(ttl, grace time.Duration, sent clock.Moment) *Presence {
	return &Presence{
		validity: NewValidity(ttl, grace, sent),
		changed:  make(chan struct{}),
		over:     make(chan struct{}),
	}
}

// Check tells where the session stands, and why it is lost if it is. Whoever sees first that its time is over, makes it so for
// everyone.
func (p *Presence) Check(now clock.Moment) (Phase, *Lost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.publish(now)
	return p.phase, p.lost
}

// Changed is closed when the session's phase changes next.
func (p *Presence) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Lost is closed when the session is lost.
func (p *Presence) Lost() <-chan struct{} { return p.over }

// Until is the moment at which it is lost if nothing more is heard.
func (p *Presence) Until() clock.Moment {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.validity.until()
}

// TTL is what the server answered last.
func (p *Presence) TTL() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.validity.ttl
}

// DisconnectGrace is what the server answered last. Zero: none.
func (p *Presence) DisconnectGrace() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.validity.grace
}

func (p *Presence) window() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.validity.window()
}

func (p *Presence) nextChange(now clock.Moment) (clock.Moment, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.validity.nextChange(now)
}

// A renewal was answered.
func (p *Presence) renewed(ttl time.Duration, sent, now clock.Moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.validity.renewed(ttl, sent, now)
	p.publish(now)
}

// A command to attach it was answered.
func (p *Presence) attached(ttl, grace time.Duration, sent, now clock.Moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.validity.attached(ttl, grace, sent, now)
	p.publish(now)
}

func (p *Presence) setStalled(stalled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = stalled
}

// Ends it. The first reason stays.
func (p *Presence) end(reason *Lost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.validity.over = true
	p.lose(reason)
}

func (p *Presence) publish(now clock.Moment) {
	phase := p.validity.phase(now)
	switch {
	case p.lost != nil || phase == p.phase:
	case phase == Over && p.stalled:
		p.lose(lost(LostStalled))
	case phase == Over:
		p.lose(lost(LostExpired))
	default:
		p.turn(phase)
	}
}

func (p *Presence) lose(reason *Lost) {
	if p.lost == nil {
		p.lost = reason
		close(p.over)
		p.turn(Over)
	}
}

func (p *Presence) turn(phase Phase) {
	p.phase = phase
	close(p.changed)
	p.changed = make(chan struct{})
}

// Hold is one hold's validity: its session's, unless the hold ended before.
type Hold struct {
	Session *Presence
	Names   []string
	Token   uint64
	// The progress of the work under the hold, if it is renewed only while there is some.
	Progress *Progress

	mu      sync.Mutex
	lost    *Lost
	handoff *TransferRequest
	over    chan struct{}
	asked   chan struct{}
}

// NewHold is what was granted with this token.
func NewHold(session *Presence, names []string, token uint64, progress *Progress) *Hold {
	return &Hold{
		Session: session, Names: names, Token: token, Progress: progress,
		over: make(chan struct{}), asked: make(chan struct{}),
	}
}

// Check tells why it is lost, if it is.
func (h *Hold) Check(now clock.Moment) *Lost {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost == nil {
		if _, reason := h.Session.Check(now); reason != nil {
			h.end(reason)
		}
	}
	return h.lost
}

// Lost is closed when the hold is lost or released.
func (h *Hold) Lost() <-chan struct{} { return h.over }

// End ends it. The first reason stays: answers it if there was one.
func (h *Hold) End(reason *Lost, now clock.Moment) *Lost {
	before := h.Check(now)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end(reason)
	return before
}

// EndAsReleased ends it because the program wants no more of it.
func (h *Hold) EndAsReleased(now clock.Moment) *Lost { return h.End(lost(LostReleased), now) }

func (h *Hold) end(reason *Lost) {
	if h.lost == nil {
		h.lost = reason
		close(h.over)
	}
}

// The server asks for a handoff.
func (h *Hold) handOver(request *TransferRequest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.handoff == nil {
		close(h.asked)
	}
	h.handoff = request
}

// TransferRequest is the last one, if there was one.
func (h *Hold) TransferRequest() *TransferRequest {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.handoff
}

// TransferRequested is closed when the server has asked for a handoff.
func (h *Hold) TransferRequested() <-chan struct{} { return h.asked }
