// Package engine is the state of a client: which sessions, claims and watches there are, and what has to be said to a server
// about them. It has no I/O and no clock: the connection passes in the time, what has been received and what has been asked,
// and takes out what is to be sent.
//
// Recovery is the ordinary path: all commands are such that sending them again is harmless, so whatever is not answered yet is
// sent anew on each new stream.
package engine

import (
	"errors"
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// Pauses between tries of a command that was refused for now: from this ...
	firstPause = 20 * time.Millisecond
	// ... to this.
	longestPause = 500 * time.Millisecond
	// A stream on which nothing was heard for so long is probed, so that one that died in silence is noticed.
	probeInterval = 5 * time.Second
	// How long the answer to a probe may take.
	probeTimeout = 3 * time.Second
)

// Verdict tells what the stream is good for.
type Verdict int

const (
	// Stay with it.
	Stay Verdict = iota
	// Leave it: connect elsewhere, and stay meanwhile.
	Leave
	// Broken is one to drop now.
	Broken
)

// Reply is an answer that is on its way to who asked: one, and nobody waits to give it.
type Reply[T any] chan Outcome[T]

// Outcome is what came of something.
type Outcome[T any] struct {
	Value T
	Err   error
}

func newReply[T any]() Reply[T] { return make(Reply[T], 1) }

func (r Reply[T]) tell(value T) { r <- Outcome[T]{Value: value} }

func (r Reply[T]) fail(err error) { r <- Outcome[T]{Err: err} }

// None is the answer that something is done.
type None struct{}

// Engine is the state of a client. Not for several goroutines at once.
type Engine struct {
	namespace string
	// Tells the client's sessions apart from those of other programs that use the same ids.
	clientID string
	log      *slog.Logger
	stream   *stream
	// The last command of the streams before this one: their numbers are not used again.
	lastCommand uint64
	verdict     Verdict
	// Why there is no stream.
	problem  string
	openings map[string]*opening
	sessions map[string]*live
	closings map[string]*closing
	watches  map[WatchKey]*watched
	timers   timers
	shutDown *shutDown
}

type shutDown struct {
	reply Reply[None]
	ended bool
}

// New is the state of a client that has asked for nothing yet. The client's id is random.
func New(namespace, clientID string, log *slog.Logger) *Engine {
	return &Engine{
		namespace: namespace,
		clientID:  clientID,
		log:       log,
		problem:   "not connected yet",
		openings:  map[string]*opening{},
		sessions:  map[string]*live{},
		closings:  map[string]*closing{},
		watches:   map[WatchKey]*watched{},
	}
}

// Connected tells that a stream was opened: all that is not settled is said on it anew.
func (e *Engine) Connected(now clock.Moment) {
	e.detachAll()
	e.stream = streamAfter(e.lastCommand, now)
	e.verdict = Stay
	e.probeLater(e.stream, now)
	for _, id := range slices.Sorted(maps.Keys(e.sessions)) {
		e.sendAttach(id, now)
	}
	for _, id := range slices.Sorted(maps.Keys(e.openings)) {
		e.sendOpen(id, now)
	}
	for _, id := range slices.Sorted(maps.Keys(e.closings)) {
		e.sendClose(id, now)
	}
	for _, key := range slices.Sorted(maps.Keys(e.watches)) {
		e.sendWatch(key, now)
	}
}

// Disconnected tells that the stream is gone.
func (e *Engine) Disconnected(problem string) {
	e.detachAll()
	e.problem = problem
}

// Trouble tells why there is no stream. Sessions that are open go on as long as they are good; nobody waits for one to be opened
// where the credentials are refused.
func (e *Engine) Trouble(why error, now clock.Moment) {
	e.problem = why.Error()
	var refusal *Refusal
	if !errors.As(why, &refusal) {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(e.openings)) {
		e.abandonOpening(id, refusal, now)
	}
}

// TakeVerdict tells what became of the stream since this was asked last.
func (e *Engine) TakeVerdict() Verdict {
	verdict := e.verdict
	e.verdict = Stay
	return verdict
}

// IsSettled tells whether every session has come over to the stream.
func (e *Engine) IsSettled() bool {
	if e.stream == nil {
		return false
	}
	for _, live := range e.sessions {
		if live.stage != attachedStage {
			return false
		}
	}
	return true
}

// ShortestWindow is the shortest time for which a renewal of a session is good, if there is one.
func (e *Engine) ShortestWindow() (time.Duration, bool) {
	shortest, some := time.Duration(0), false
	for _, live := range e.sessions {
		if window := live.presence.window(); !some || window < shortest {
			shortest, some = window, true
		}
	}
	return shortest, some
}

// HasOutgoing tells whether there is something to send.
func (e *Engine) HasOutgoing() bool { return e.stream != nil && len(e.stream.outgoing) > 0 }

// TakeOutgoing is what is to be sent next: at most so many commands.
func (e *Engine) TakeOutgoing(most int) []*tenurev1.Command {
	if e.stream == nil {
		return nil
	}
	count := min(most, len(e.stream.outgoing))
	taken := e.stream.outgoing[:count:count]
	e.stream.outgoing = e.stream.outgoing[count:]
	return taken
}

// NextDeadline is when Due is to be called next.
func (e *Engine) NextDeadline() (clock.Moment, bool) { return e.timers.next() }

// Due does what is due.
func (e *Engine) Due(now clock.Moment) {
	for timer := e.timers.pop(now); timer != nil; timer = e.timers.pop(now) {
		timer.do(now)
	}
}

// ShutDown closes all sessions and ends all watches.
func (e *Engine) ShutDown(giveUp, now clock.Moment) Reply[None] {
	reply := newReply[None]()
	if e.shutDown != nil {
		reply.tell(None{})
		return reply
	}
	e.shutDown = &shutDown{reply: reply}
	for key := range e.watches {
		e.endWatch(key, ErrClosed)
	}
	for _, id := range slices.Sorted(maps.Keys(e.openings)) {
		e.abandonOpening(id, ErrClosed, now)
	}
	for _, id := range slices.Sorted(maps.Keys(e.sessions)) {
		e.closeUnasked(id, now)
	}
	e.timers.set(giveUp, e.giveUpShuttingDown)
	return reply
}

// TakeShutDown tells whether it was asked to shut down and has.
func (e *Engine) TakeShutDown() bool {
	if e.shutDown == nil || len(e.closings) > 0 || len(e.sessions) > 0 {
		return false
	}
	if !e.shutDown.ended {
		e.shutDown.ended = true
		e.shutDown.reply.tell(None{})
	}
	return true
}

func (e *Engine) giveUpShuttingDown(clock.Moment) {
	if e.shutDown.ended {
		return
	}
	e.shutDown.ended = true
	e.shutDown.reply.fail(e.inVain(nil))
	for _, closing := range e.closings {
		closing.tell(e.inVain(closing.refusal))
	}
	clear(e.closings)
}

func (e *Engine) detachAll() {
	if e.stream != nil {
		e.lastCommand = e.stream.lastCommand
		e.stream = nil
	}
	for _, live := range e.sessions {
		live.detach()
	}
	for _, opening := range e.openings {
		opening.command = 0
	}
	for _, closing := range e.closings {
		closing.command = 0
	}
	for _, watched := range e.watches {
		watched.detach()
	}
}

// Sends a command if there is a stream. Answers its id, or 0.
func (e *Engine) send(command *tenurev1.Command, now clock.Moment, answer func(*tenurev1.Answer, clock.Moment, clock.Moment)) uint64 {
	if e.stream == nil {
		return 0
	}
	_, goesOn := command.Kind.(*tenurev1.Command_Watch)
	return e.stream.send(command, sent{at: now, goesOn: goesOn, answer: answer})
}

// An answer that takes longer than this breaks the stream.
func (e *Engine) breakIfSilent(command uint64, limit time.Duration, now clock.Moment) {
	e.timers.set(now.After(limit), func(clock.Moment) {
		if e.isUnanswered(command) {
			e.log.Warn("the server does not answer")
			e.judge(Broken)
		}
	})
}

func (e *Engine) isUnanswered(command uint64) bool {
	if e.stream == nil {
		return false
	}
	_, unanswered := e.stream.sent[command]
	return unanswered
}

// Looks later whether something was heard on the stream, and asks for an answer if not.
func (e *Engine) probeLater(of *stream, now clock.Moment) {
	e.timers.set(now.After(probeInterval), func(now clock.Moment) {
		if e.stream != of {
			return
		}
		if now.Since(of.heard) >= probeInterval {
			// There is no such command, which makes it a question that changes nothing.
			kind := &tenurev1.Command_Cancel{Cancel: &tenurev1.CancelCommand{CommandId: math.MaxUint64}}
			probe := e.send(&tenurev1.Command{Kind: kind}, now, func(*tenurev1.Answer, clock.Moment, clock.Moment) {})
			e.breakIfSilent(probe, probeTimeout, now)
		}
		e.probeLater(of, now)
	})
}

// A broken stream stays broken.
func (e *Engine) judge(verdict Verdict) { e.verdict = max(e.verdict, verdict) }

// Another server may do what this one cannot; but not at the cost of a session that this one serves.
func (e *Engine) leaveIfIdle() {
	for _, live := range e.sessions {
		if live.stage == attachedStage {
			return
		}
	}
	e.judge(Leave)
}

// Whether a refusal is for now only. If it is this server's alone, another one is looked for.
func (e *Engine) isForNow(refusal *Refusal) bool {
	if refusal.Reason == "LEASE_LOST" || refusal.Reason == "DRAINING" {
		e.judge(Leave)
	}
	return refusal.IsTransient()
}

// What to tell who has waited in vain.
func (e *Engine) inVain(refusal *Refusal) error {
	switch {
	case refusal != nil:
		return refusal
	case e.stream != nil:
		return &Unavailable{Problem: "the server did not answer"}
	default:
		return &Unavailable{Problem: e.problem}
	}
}

func newBackoff() backoff.Backoff { return backoff.New(firstPause, longestPause) }
