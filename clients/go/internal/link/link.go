// Package link is the connection to the service: it owns the stream, carries between it and the engine, and goes to the next
// server when it fails.
package link

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/internal/engine"
)

const (
	// Pauses between rounds of connecting in vain: from this ...
	firstPause = 50 * time.Millisecond
	// ... to this.
	longestPause = time.Second
	// A connection that lasted shorter than this is not followed by another without a pause.
	shortLived = 500 * time.Millisecond
	// How long a stream that is left is kept while the sessions come over to the new one.
	overlap = 5 * time.Second
	// The most commands in one message: the contract's bound.
	commandsPerMessage = 1000
	// Timers of the runtime stop in suspend: after so long the clock is looked at whatever they say.
	longestNap = time.Second
	// Who wakes so late was paused: what has come meanwhile is taken in first, because an answer that is here is not overdue.
	lateness = 20 * time.Millisecond
	// For so long.
	catchUp = 5 * time.Millisecond
	// The next endpoint is tried after this part of the shortest time for which a renewal is good, at the latest.
	staggerDivisor = 12
)

// Link is a connection to one server at a time. Its engine is used by whoever has its lock.
type Link struct {
	endpoints []Endpoint
	dialler   dialler
	log       *slog.Logger
	wake      chan struct{}
	dialled   chan outcome
	stop      context.CancelFunc

	mu     sync.Mutex
	engine *engine.Engine
	keys   uint64
	closed bool
	line   line
	// The stream that there is, and the one that was left, which only has to stay open.
	current, parked *stream
	parkedUntil     clock.Moment
	dialling        bool
	nextEndpoint    int
	connectedAt     clock.Moment
	hasConnected    bool
	backoff         backoff.Backoff
}

// Start connects in the background, until Close. The client's id is random.
func Start(
	endpoints []Endpoint, security Security, namespace, clientID string, connectTimeout time.Duration, log *slog.Logger,
) *Link {
	ctx, stop := context.WithCancel(context.Background())
	notYet := &engine.Unavailable{Problem: "not connected yet"}
	link := &Link{
		endpoints:    endpoints,
		dialler:      dialler{secure: security.dialOptions, limit: connectTimeout},
		log:          log,
		wake:         make(chan struct{}, 1),
		dialled:      make(chan outcome, 1),
		stop:         stop,
		engine:       engine.New(namespace, clientID, log),
		line:         line{changed: make(chan struct{}), problem: notYet},
		nextEndpoint: rand.N(len(endpoints)),
		backoff:      backoff.New(firstPause, longestPause),
	}
	link.mu.Lock()
	link.startDialling(ctx, clock.Now())
	link.mu.Unlock()
	go link.run(ctx)
	return link
}

// With lets f use the engine, and sees to what comes of it.
func (l *Link) With(f func(engine *engine.Engine, now clock.Moment)) {
	l.mu.Lock()
	f(l.engine, clock.Now())
	l.kick()
	l.mu.Unlock()
	l.nudge()
}

// Key is a number that this was not asked for before.
func (l *Link) Key() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys++
	return l.keys
}

// Has what is to be sent sent.
func (l *Link) kick() {
	if l.current != nil && l.engine.HasOutgoing() {
		l.current.kick()
	}
}

// Wakes the loop: what is due next may be due earlier now.
func (l *Link) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *Link) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		l.mu.Lock()
		now := clock.Now()
		if at, some := l.engine.NextDeadline(); some && now.Since(at) > lateness {
			l.mu.Unlock()
			time.Sleep(catchUp)
			l.mu.Lock()
			now = clock.Now()
		}
		l.engine.Due(now)
		l.followVerdict(ctx, now)
		l.unpark(now)
		if l.engine.TakeShutDown() {
			l.end()
			l.mu.Unlock()
			return
		}
		l.kick()
		nap := longestNap
		if at, some := l.engine.NextDeadline(); some {
			nap = min(nap, at.Since(now))
		}
		l.mu.Unlock()
		timer.Reset(nap)
		select {
		case <-l.wake:
		case <-timer.C:
		case dialled := <-l.dialled:
			l.mu.Lock()
			l.took(ctx, dialled, clock.Now())
			l.mu.Unlock()
		}
	}
}

func (l *Link) startDialling(ctx context.Context, now clock.Moment) {
	if l.dialling {
		return
	}
	pause := time.Duration(0)
	switch {
	case !l.hasConnected:
	case now.Since(l.connectedAt) >= shortLived:
		l.backoff.Reset()
	default:
		pause = l.backoff.Next()
	}
	l.dialAfter(ctx, pause)
}

func (l *Link) dialAfter(ctx context.Context, pause time.Duration) {
	l.dialling = true
	stagger := longestStagger
	if window, some := l.engine.ShortestWindow(); some {
		stagger = min(stagger, window/staggerDivisor)
		pause = min(pause, window/staggerDivisor)
	}
	servers := l.order()
	go func() {
		if pause > 0 {
			time.Sleep(pause)
		}
		l.dialled <- l.dialler.dial(ctx, servers, stagger)
	}()
}

// The endpoints in the order in which to try them.
func (l *Link) order() []server {
	// The one that the stream is connected to comes last; while that is only to be left, others do or nobody does.
	count := len(l.endpoints)
	if l.current != nil && count > 1 {
		count--
	}
	var order []server
	for step := range count {
		place := (l.nextEndpoint + step) % len(l.endpoints)
		order = append(order, server{place: place, endpoint: l.endpoints[place]})
	}
	return order
}

// Connecting has come to an end.
func (l *Link) took(ctx context.Context, dialled outcome, now clock.Moment) {
	l.dialling = false
	switch {
	case l.closed:
		if dialled.stream != nil {
			dialled.stream.end()
		}
	case dialled.stream == nil:
		l.log.Warn("no server can be reached", "problem", dialled.err)
		if l.current == nil {
			l.line.set(nil, dialled.err)
			l.engine.Trouble(dialled.err, now)
		}
		l.dialAfter(ctx, l.backoff.Next())
	default:
		l.log.Info("connected", "endpoint", dialled.stream.server.endpoint)
		if l.current != nil {
			l.endParked()
			l.parked, l.parkedUntil = l.current, now.After(overlap)
		}
		l.nextEndpoint = (dialled.stream.server.place + 1) % len(l.endpoints)
		l.connectedAt, l.hasConnected = now, true
		l.current = dialled.stream
		l.line.set(dialled.stream.wire, nil)
		l.engine.Connected(now)
		l.current.start(l)
	}
}

func (l *Link) followVerdict(ctx context.Context, now clock.Moment) {
	switch l.engine.TakeVerdict() {
	case engine.Broken:
		if l.current != nil {
			l.hangUp("the server did not answer")
		}
	case engine.Leave:
		l.startDialling(ctx, now)
	case engine.Stay:
	}
	if l.current == nil {
		l.startDialling(ctx, now)
	}
}

// The stream has come to its end.
func (l *Link) hangUp(problem string) {
	l.log.Warn("the stream broke", "problem", problem)
	l.current.end()
	l.current = nil
	l.line.set(nil, &engine.Unavailable{Problem: problem})
	l.engine.Disconnected(problem)
}

func (l *Link) unpark(now clock.Moment) {
	if l.parked != nil && (l.parkedUntil <= now || l.engine.IsSettled()) {
		l.endParked()
	}
}

func (l *Link) endParked() {
	if l.parked != nil {
		l.parked.end()
		l.parked = nil
	}
}

// The client is closed.
func (l *Link) end() {
	l.closed = true
	l.endParked()
	if l.current != nil {
		l.current.end()
		l.current = nil
	}
	l.line.set(nil, nil)
	l.line.closed = true
	l.stop()
	if l.dialling {
		// Nobody else takes what comes of that.
		go func() {
			dialled := <-l.dialled
			l.mu.Lock()
			defer l.mu.Unlock()
			l.took(context.Background(), dialled, clock.Now())
		}()
	}
}
