// Package transport owns the stream to the service, passes messages between it and the protocol, and connects to the
// next server when it fails.
package transport

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"net/url"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/internal/protocol"
)

const (
	// After a stream that was shorter than this, or was not confirmed at all, there is a pause before the next one.
	shortLived = 500 * time.Millisecond
	// The runtime's timers stop during suspend, so the clock is read at least this often.
	longestNap = time.Second
	// A timer that fires this late shows that the process was paused: what has arrived meanwhile is processed first,
	// because an acknowledgement that has arrived is not overdue ...
	lateness = 20 * time.Millisecond
	// ... for which there is this time.
	catchUp = 5 * time.Millisecond
	// How long calls that are not safe to repeat may continue at a server that the client has left.
	callsLinger = 10 * time.Second
)

// ErrClosed is after the end of the driver.
var ErrClosed = errors.New("the client was closed")

// Driver owns the stream.
type Driver struct {
	// The servers, as URLs with a port.
	endpoints []*url.URL
	// How a connection is secured.
	secure func(*url.URL) []grpc.DialOption
	// How long opening a stream to one server may take.
	connectTimeout time.Duration
	log            *slog.Logger
	// Has an element when something may be due earlier than planned.
	wake chan struct{}
	// Has an element when the client is to connect to another server.
	reconnect chan struct{}
	// Done at the end of the driver.
	ctx  context.Context
	stop context.CancelFunc

	mu       sync.Mutex
	protocol *protocol.Protocol
	stream   *stream
	// The last stream that was welcomed, until the current one is: its end would be a disconnect.
	before *stream
	// When the current stream, or the last one, was welcomed; 0: not yet.
	welcomed clock.Moment
	// Why there is no stream.
	problem error
	// Closed and replaced when the stream is another one, or none any more.
	changed chan struct{}
	// When the loop wakes.
	next clock.Moment
	// Until when everything is to be withdrawn, if the client is being closed.
	closing clock.Moment
}

// Start connects in the background, until Close: to endpoints that are URLs with a port, with connections that are
// secured by secure.
func Start(
	namespace string, endpoints []*url.URL, secure func(*url.URL) []grpc.DialOption, connectTimeout time.Duration,
	log *slog.Logger,
) *Driver {
	d := newDriver(namespace, endpoints, secure, connectTimeout, log)
	go d.run()
	go d.connect()
	return d
}

func newDriver(
	namespace string, endpoints []*url.URL, secure func(*url.URL) []grpc.DialOption, connectTimeout time.Duration,
	log *slog.Logger,
) *Driver {
	d := &Driver{
		endpoints: endpoints, secure: secure, connectTimeout: connectTimeout, log: log,
		wake: make(chan struct{}, 1), reconnect: make(chan struct{}, 1), changed: make(chan struct{}),
		protocol: protocol.New(namespace, rand.Text()), problem: errors.New("not connected yet"), closing: clock.Never,
	}
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d
}

// Lock gives access to what is declared, until Unlock. Sessions whose time is over at this moment are lost.
func (d *Driver) Lock() (p *protocol.Protocol, now clock.Moment) {
	d.mu.Lock()
	now = clock.Now()
	d.protocol.Expire(now)
	return d.protocol, now
}

// Unlock ends that access, and sees to what it has caused.
func (d *Driver) Unlock() {
	if d.protocol.HasOutgoing() {
		signal(d.stream.kicked)
	}
	if d.stream == nil || d.protocol.IsLeft() {
		signal(d.reconnect)
	}
	if min(d.protocol.NextTimeout(d.next), d.closing) < d.next || d.IsClosing() && d.protocol.IsEmpty() {
		signal(d.wake)
	}
	d.mu.Unlock()
}

func signal(channel chan<- struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

// Close withdraws everything, and ends when that is confirmed, or at the latest after the timeout.
func (d *Driver) Close(timeout time.Duration) {
	p, now := d.Lock()
	defer d.Unlock()
	d.closing = min(d.closing, now.After(timeout))
	p.WithdrawAll(now)
}

// IsClosing is whether Close was called. To be called between Lock and Unlock.
func (d *Driver) IsClosing() bool { return d.closing != clock.Never }

// Done is closed at the end of the driver.
func (d *Driver) Done() <-chan struct{} { return d.ctx.Done() }

// Conn is the connection to the server that the stream is connected to, and a context that is done when the client
// leaves that server. Waits for one until ctx is done, unless the credentials are rejected.
func (d *Driver) Conn(ctx context.Context) (conn *grpc.ClientConn, left context.Context, err error) {
	for {
		d.Lock()
		current, problem, changed := d.stream, d.problem, d.changed
		d.Unlock()
		switch {
		case current != nil:
			return current.conn, current.left, nil
		case isUnauthenticated(problem):
			return nil, nil, problem
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, problem
		case <-d.Done():
			return nil, nil, ErrClosed
		}
	}
}

// Does what is due, until the client is closed.
func (d *Driver) run() {
	for {
		p, now := d.Lock()
		p.HandleTimeout(now)
		isClosed := d.closing <= now || d.IsClosing() && p.IsEmpty()
		next := min(p.NextTimeout(now), d.closing, now.After(longestNap))
		d.next = next
		d.Unlock()
		if isClosed {
			d.end()
			return
		}
		select {
		case <-d.wake:
		case <-time.After(next.Since(now)):
			if clock.Now().Since(next) > lateness {
				time.Sleep(catchUp)
			}
		}
	}
}

// Connects to a server, and to the next one when that is necessary, until the client is closed.
func (d *Driver) connect() {
	pauses := backoff.Backoff{First: 50 * time.Millisecond, Longest: time.Second}
	for first := mathrand.N(len(d.endpoints)); d.ctx.Err() == nil; {
		opened, err := d.dial(first)
		if err == nil {
			first = opened.endpoint + 1
			d.connected(opened)
			<-d.reconnect
		}
		p, now := d.Lock()
		isStable := err == nil && d.welcomed != 0 && now.Since(d.welcomed) >= shortLived
		if err != nil {
			d.log.Warn("no server can be reached", "problem", err)
		}
		if err != nil && d.stream == nil {
			d.use(nil, err)
		}
		pause := min(pauses.Next(), p.ShortestValidity()/validityDivisor)
		d.Unlock()
		if isStable {
			pauses.Reset()
			continue
		}
		select {
		case <-time.After(pause):
		case <-d.Done():
		}
	}
}

func (d *Driver) connected(opened *stream) {
	d.log.Info("connected", "endpoint", d.endpoints[opened.endpoint].String())
	p, now := d.Lock()
	defer d.Unlock()
	if d.ctx.Err() != nil {
		opened.close()
		return
	}
	if d.welcomed != 0 {
		d.endBefore()
		d.before, d.welcomed = d.stream, 0
	} else if d.stream != nil {
		d.stream.close()
	}
	opened.epoch = p.Connected(now)
	d.use(opened, nil)
	select {
	case <-d.reconnect:
	default:
	}
	go d.receive(opened)
	go d.send(opened)
}

// Plain calls use this stream's connection from now on.
func (d *Driver) use(stream *stream, problem error) {
	if d.stream != nil {
		d.stream.leave()
	}
	d.stream, d.problem = stream, problem
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *Driver) endBefore() {
	if before := d.before; before != nil {
		before.cancel()
		time.AfterFunc(callsLinger, before.close)
		d.before = nil
	}
}

func (d *Driver) receive(from *stream) {
	for {
		response, err := from.messages.Recv()
		p, now := d.Lock()
		switch {
		case err != nil:
			d.disconnected(from, err)
		case from == d.stream && d.welcomed == 0:
			d.welcomed = now
			d.endBefore()
			fallthrough
		default:
			p.Receive(from.epoch, response, now)
		}
		d.Unlock()
		if err != nil {
			return
		}
	}
}

func (d *Driver) disconnected(from *stream, err error) {
	from.close()
	if from != d.stream {
		return
	}
	d.log.Warn("the stream broke", "problem", err)
	if Refusal(err).GetReason() == "CLIENT_SUPERSEDED" {
		d.protocol.Superseded(from.epoch, rand.Text())
	}
	d.protocol.Disconnected(from.epoch)
	d.use(nil, err)
}

func (d *Driver) send(to *stream) {
	for {
		select {
		case <-to.kicked:
		case <-to.messages.Context().Done():
			return
		}
		// Callers that were notified by one message make their next changes at the same time. After a yield these are
		// sent in one message, too.
		runtime.Gosched()
		p, _ := d.Lock()
		outgoing := p.TakeOutgoing(to.epoch)
		d.Unlock()
		for _, request := range outgoing {
			if to.messages.Send(request) != nil {
				// The receiver gets the reason.
				return
			}
		}
	}
}

// The client is closed.
func (d *Driver) end() {
	d.stop()
	d.Lock()
	defer d.Unlock()
	for _, stream := range []*stream{d.before, d.stream} {
		if stream != nil {
			d.protocol.Disconnected(stream.epoch)
			stream.close()
		}
	}
	d.use(nil, ErrClosed)
}
