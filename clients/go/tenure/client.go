// Package tenure is the client of Tenure, a lock and leadership service: for the right to be the only one doing something. The
// service keeps that right alive while this program lives, gives it to the next one when it dies, and hands out a fencing token
// with which the protected resource can turn away whoever has lost it.
//
//	client, err := tenure.Connect(tenure.FromEnv())
//	...
//	err = client.Do(ctx, "nightly-report", func(ctx context.Context, hold *tenure.Hold) error {
//		return writeReport(ctx, hold.Token())
//	})
//
// Options are pointers to structs whose zero values are the defaults, as is nil.
package tenure

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/internal/engine"
	"github.com/tenure-lock/tenure/clients/go/internal/link"
)

// Client is a client of the service, for one namespace. It connects in the background, to one server at a time, and goes to the
// next when that fails; sessions, what they hold, and their places in queues go along. For any number of goroutines.
type Client struct {
	link    *link.Link
	options Options
	closed  atomic.Bool
}

// Connect makes a client. It returns at once; calls wait for a connection, each until its deadline, or until no server takes the
// stream and one does not know who this is: ReasonUnauthenticated. Close ends it. ErrInvalid if an option cannot be used, be it
// because a file cannot be read or because a token would go out in the clear.
func Connect(options *Options) (*Client, error) {
	filled, err := options.filled()
	if err != nil {
		return nil, err
	}
	endpoints, err := endpointsOf(filled.Endpoints)
	if err != nil {
		return nil, err
	}
	security := filled.security()
	if err := security.Check(endpoints); err != nil {
		return nil, told(err)
	}
	// fmt would show it in the client's inner fields.
	filled.Token = ""
	// On the wire the default namespace is the absent one.
	namespace := filled.Namespace
	if namespace == defaultNamespace {
		namespace = ""
	}
	return &Client{
		link:    link.Start(endpoints, security, namespace, freshID(), filled.ConnectTimeout, filled.Logger),
		options: filled,
	}, nil
}

// Namespace is that of all that this client does.
func (c *Client) Namespace() string { return c.options.Namespace }

// Close closes all sessions of this client and ends its connection. To be called before a program ends, so that what it holds is
// free at once. ErrUnavailable if no server answered in time; the sessions then end by their TTLs.
func (c *Client) Close(ctx context.Context) error {
	if c.closed.Swap(true) {
		return nil
	}
	var reply engine.Reply[engine.None]
	c.link.With(func(engine *engine.Engine, now clock.Moment) {
		reply = engine.ShutDown(now.After(c.options.CallTimeout), now)
	})
	_, err := await(ctx, reply, func() {})
	return err
}

// Do waits for a lock, runs body while it is held, and gives it back: see Lock.Do. With options: client.Lock(name, options).Do.
func (c *Client) Do(ctx context.Context, name string, body func(ctx context.Context, hold *Hold) error) error {
	return c.Lock(name, nil).Do(ctx, body)
}

func (c *Client) callTimeout() time.Duration { return c.options.CallTimeout }
