package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/metadata"

	"github.com/tenure-lock/tenure/clients/go/internal/engine"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// The next endpoint is tried beside one that has not answered for this part of the connect time-out ...
	timeoutDivisor = 4
	// ... at most after this ...
	longestStagger = 100 * time.Millisecond
	// ... but not faster than this.
	shortestStagger = 10 * time.Millisecond
	// The largest answer that is taken: a page of 1000 locks with 100 waiters each.
	largestAnswer = 64 << 20
)

// One of the endpoints.
type server struct {
	place    int
	endpoint Endpoint
}

// What came of connecting: a stream, or why there is none, which is an *engine.Unavailable or, if the server does not know who
// this is, an *engine.Refusal.
type outcome struct {
	stream *stream
	err    error
}

func (o outcome) isUnauthenticated() bool {
	var refusal *engine.Refusal
	return errors.As(o.err, &refusal)
}

// Makes connections.
type dialler struct {
	// How to connect to a server. A function, since fmt would show a token in the client's inner fields.
	secure func(Endpoint) ([]grpc.DialOption, error)
	// How long connecting to one server may take.
	limit time.Duration
}

// Tries these servers once, in this order: the next as soon as one fails or takes long. The first that opens a stream is taken.
// The error is that of the last one that failed, unless one refused the credentials.
func (d dialler) dial(ctx context.Context, order []server, stagger time.Duration) outcome {
	stagger = max(min(stagger, d.limit/timeoutDivisor), shortestStagger)
	ctx, cancel := context.WithCancel(ctx)
	tried := make(chan outcome, len(order))
	last := outcome{err: &engine.Unavailable{Problem: "there are no endpoints"}}
	pending := 0
	for len(order) > 0 || pending > 0 {
		var next <-chan time.Time
		if len(order) > 0 {
			go func(server server) { tried <- d.open(ctx, server) }(order[0])
			order = order[1:]
			pending++
			if len(order) > 0 {
				next = time.After(stagger)
			}
		}
		select {
		case came := <-tried:
			pending--
			if came.stream != nil {
				cancel()
				go endRest(tried, pending)
				return came
			}
			// That the credentials are refused is what can be mended; the others may only be away.
			if !last.isUnauthenticated() {
				last = came
			}
		case <-next:
		}
	}
	cancel()
	return last
}

// Those who come too late.
func endRest(tried <-chan outcome, pending int) {
	for range pending {
		if late := <-tried; late.stream != nil {
			late.stream.end()
		}
	}
}

func (d dialler) open(dialling context.Context, server server) outcome {
	failed := func(why any) outcome {
		return outcome{err: &engine.Unavailable{Problem: fmt.Sprintf("%v: %v", server.endpoint, why)}}
	}
	conn, err := d.connect(server.endpoint)
	if err != nil {
		return failed(err)
	}
	// The stream outlives the dialling.
	ctx, cancel := context.WithCancel(context.Background())
	late := time.AfterFunc(d.limit, cancel)
	unlink := context.AfterFunc(dialling, cancel)
	commands, err := tenurev1.NewClientServiceClient(conn).Stream(ctx)
	if err == nil {
		// A server that is frozen still accepts connections; only its answer tells that it lives.
		var header metadata.MD
		if header, err = commands.Header(); err == nil && header == nil {
			// It has ended without one; why is told by what is received.
			_, err = commands.Recv()
		}
	}
	if isTimely, isWanted := late.Stop(), unlink(); err != nil || !isTimely || !isWanted {
		cancel()
		_ = conn.Close()
		if err == nil || !isTimely {
			return failed(fmt.Sprintf("no answer within %v", d.limit))
		}
		why := Failure(err)
		var refusal *engine.Refusal
		if errors.As(why, &refusal) && refusal.IsUnauthenticated() {
			return outcome{err: refusal}
		}
		return failed(why)
	}
	return outcome{stream: &stream{
		server: server, wire: &wire{conn: conn, refs: 1}, commands: commands, cancel: cancel, kicked: make(chan struct{}, 1),
		done: ctx.Done(),
	}}
}

func (d dialler) connect(endpoint Endpoint) (*grpc.ClientConn, error) {
	options, err := d.secure(endpoint)
	if err != nil {
		return nil, err
	}
	return grpc.NewClient(
		"passthrough:///"+endpoint.Address,
		append(options,
			grpc.WithNoProxy(),
			grpc.WithDisableServiceConfig(),
			grpc.WithIdleTimeout(0),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: d.limit}),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestAnswer)),
		)...,
	)
}
