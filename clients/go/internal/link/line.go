package link

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc"

	"github.com/tenure-lock/tenure/clients/go/internal/engine"
)

// A connection, closed when neither the stream nor a call needs it any more.
type wire struct {
	mu   sync.Mutex
	conn *grpc.ClientConn
	refs int
}

func (w *wire) retain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refs++
}

func (w *wire) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refs--; w.refs == 0 {
		_ = w.conn.Close()
	}
}

// The connection as it is now, for plain calls.
type line struct {
	wire *wire
	// Why there is none.
	problem error
	closed  bool
	// Closed and replaced at each change.
	changed chan struct{}
}

func (l *line) set(wire *wire, problem error) {
	l.wire, l.problem = wire, problem
	close(l.changed)
	l.changed = make(chan struct{})
}

// Conn is the connection to the server that the stream is connected to.
type Conn struct {
	*grpc.ClientConn
	// Closed when the stream goes to another server.
	Changed <-chan struct{}
	release func()
}

// Release tells that the call is over.
func (c *Conn) Release() { c.release() }

// Conn waits for a connection until the context is over, unless the credentials are refused.
func (l *Link) Conn(ctx context.Context) (*Conn, error) {
	for {
		l.mu.Lock()
		wire, changed, problem, closed := l.line.wire, l.line.changed, l.line.problem, l.line.closed
		if wire != nil {
			wire.retain()
		}
		l.mu.Unlock()
		switch {
		case closed:
			return nil, engine.ErrClosed
		case wire != nil:
			return &Conn{ClientConn: wire.conn, Changed: changed, release: wire.release}, nil
		}
		var refusal *engine.Refusal
		if errors.As(problem, &refusal) {
			return nil, refusal
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, problem
		}
	}
}
