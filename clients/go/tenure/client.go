// Package tenure is the client of Tenure: locks, leadership, watches and groups.
//
//	client, err := tenure.Connect(tenure.FromEnv())
//	...
//	err = client.Do(ctx, "nightly-report", func(ctx context.Context, hold *tenure.Hold) error {
//		return writeReport(ctx, hold.Token())
//	})
//
// Options are pointers to structs whose zero values are the defaults, as is nil. Requests and replies of reads, watches
// and operators' calls are the contract's messages, in package tenurev1; the client sets the namespace in requests.
//
// A hold is never reported as valid after the server may have ended it: validity counts from the moment a renewal was
// sent, on a clock that runs while the machine is suspended (on Linux), and it is decided at the moment of the check. A
// program may be paused right after the check: the resource that a lock protects should check the fencing token.
//
// A session is renewed while the client runs, even if the rest of the program hangs. For a hung program to lose its
// locks, make renewal depend on progress: StallAfter.
package tenure

import (
	"context"
	"fmt"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
	"github.com/tenure-lock/tenure/clients/go/internal/transport"
)

var (
	// Between attempts of a call, or of what was rejected temporarily.
	pausesOfCalls = backoff.Backoff{First: 20 * time.Millisecond, Longest: 500 * time.Millisecond}
	// Between attempts of long-lived roles: to lead, to join.
	pausesOfRoles = backoff.Backoff{First: 50 * time.Millisecond, Longest: 500 * time.Millisecond}
)

// Client is a client of the service, for one namespace. It connects in the background, to one server at a time, and
// fails over to the next; sessions, their holds, and their places in queues remain. For any number of goroutines.
type Client struct {
	Calls
	services services
	driver   *transport.Driver
	options  Options
}

// Connect makes a client, which Close ends. It returns at once; calls wait for a connection, each until its deadline.
//
// An *InvalidError if an endpoint is no URL, the namespace is invalid, a timeout is negative, a file of the options
// cannot be read, or a token would be sent in plaintext.
func Connect(options *Options) (*Client, error) {
	checked, endpoints, err := options.checked()
	if err != nil {
		return nil, err
	}
	secure, timeout := checked.dialOptions, checked.ConnectTimeout
	driver := transport.Start(checked.Namespace, endpoints, secure, timeout, checked.Logger)
	client := &Client{driver: driver, options: checked}
	client.options.Token = ""
	client.services = newServices(repeating{Client: client})
	client.Calls = client.services
	return client, nil
}

// Namespace is that of this client.
func (c *Client) Namespace() string { return c.options.Namespace }

// Close closes all sessions of this client and ends its connection and its watches. Call it before a program ends, so
// that its locks are free at once. ErrUnavailable if no server answered in time; the sessions then end by their TTLs. A
// context that is done ends only the wait.
func (c *Client) Close(ctx context.Context) error {
	c.driver.Close(c.options.CallTimeout)
	select {
	case <-c.driver.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p, _ := c.driver.Lock()
	defer c.driver.Unlock()
	if !p.IsEmpty() {
		return fmt.Errorf("%w: the sessions were not closed", ErrUnavailable)
	}
	return nil
}

// Do waits for a lock, runs body while it is held, and releases it: see Lock.Do. With options: client.Lock(name,
// options).Do.
func (c *Client) Do(ctx context.Context, name string, body func(ctx context.Context, hold *Hold) error) error {
	return c.Lock(name, nil).Do(ctx, body)
}

// Waits. False if the context is done before.
func pause(ctx context.Context, duration time.Duration) bool {
	select {
	case <-time.After(duration):
		return true
	case <-ctx.Done():
		return false
	}
}
