package link

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

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
	place   int
	address string
}

// What came of connecting: a stream, or why there is none.
type outcome struct {
	stream  *stream
	problem string
}

// Tries these servers once, in this order: the next as soon as one fails or takes long. The first that opens a stream is taken.
// The problem is that of the last one that failed.
func dial(ctx context.Context, order []server, limit, stagger time.Duration) outcome {
	stagger = max(min(stagger, limit/timeoutDivisor), shortestStagger)
	ctx, cancel := context.WithCancel(ctx)
	tried := make(chan outcome, len(order))
	last := outcome{problem: "there are no endpoints"}
	pending := 0
	for len(order) > 0 || pending > 0 {
		var next <-chan time.Time
		if len(order) > 0 {
			go func(server server) { tried <- open(ctx, server, limit) }(order[0])
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
			last = came
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

func open(dialling context.Context, server server, limit time.Duration) outcome {
	failed := func(why any) outcome { return outcome{problem: fmt.Sprintf("%s: %v", server.address, why)} }
	conn, err := grpc.NewClient(
		"passthrough:///"+server.address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: limit}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestAnswer)),
	)
	if err != nil {
		return failed(err)
	}
	// The stream outlives the dialling.
	ctx, cancel := context.WithCancel(context.Background())
	late := time.AfterFunc(limit, cancel)
	unlink := context.AfterFunc(dialling, cancel)
	commands, err := tenurev1.NewClientServiceClient(conn).Stream(ctx)
	if err == nil {
		// A server that is frozen still accepts connections; only its answer tells that it lives.
		_, err = commands.Header()
	}
	if isTimely, isWanted := late.Stop(), unlink(); err != nil || !isTimely || !isWanted {
		cancel()
		_ = conn.Close()
		if err != nil && isTimely {
			return failed(status.Convert(err).Message())
		}
		return failed(fmt.Sprintf("no answer within %v", limit))
	}
	return outcome{stream: &stream{
		server: server, wire: &wire{conn: conn, refs: 1}, commands: commands, cancel: cancel, kicked: make(chan struct{}, 1),
		done: ctx.Done(),
	}}
}
