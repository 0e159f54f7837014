package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

// The first calls on a connection take longer: so many are not measured.
const warmUp = 20

func (d *driver) measureHandlers() map[string]handler {
	return map[string]handler{"measure": d.measure, "hold_many": d.holdMany}
}

func (d *driver) measure(ctx context.Context, asked *request) (facts, error) {
	session, err := d.sessions.get(asked.Session)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("passthrough:///"+strings.TrimPrefix(asked.Endpoint, "http://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	pair := func() error {
		guard, err := session.Lock("measured", nil).Acquire(ctx)
		if err != nil {
			return err
		}
		return guard.Release(ctx)
	}
	call := func() error {
		// The empty request is no bytes, and the response is not read.
		return conn.Invoke(ctx, "/grpc.health.v1.Health/Check", &emptypb.Empty{}, &emptypb.Empty{})
	}
	for range warmUp {
		if err := call(); err != nil {
			return nil, err
		}
	}
	pairs, calls := make([]int64, asked.Turns), make([]int64, asked.Turns)
	for turn := range asked.Turns {
		if pairs[turn], err = timed(pair); err != nil {
			return nil, err
		}
		if calls[turn], err = timed(call); err != nil {
			return nil, err
		}
	}
	return facts{"pairs_us": pairs, "calls_us": calls}, nil
}

func (d *driver) holdMany(ctx context.Context, asked *request) (facts, error) {
	session, err := d.sessions.get(asked.Session)
	if err != nil {
		return nil, err
	}
	guards := make([]*tenure.Guard, asked.Count)
	held, err := timed(atOnce(asked.Count, func(number int) (err error) {
		guards[number], err = session.Lock(fmt.Sprintf("many-%d", number), nil).Acquire(ctx)
		return err
	}))
	if err != nil {
		return nil, err
	}
	released, err := timed(atOnce(asked.Count, func(number int) error { return guards[number].Release(ctx) }))
	return facts{"held_us": held, "released_us": released}, err
}

// How many microseconds it takes.
func timed(do func() error) (us int64, err error) {
	start := time.Now()
	err = do()
	return time.Since(start).Microseconds(), err
}

// Does this for all numbers below count at the same time. The error is the first one.
func atOnce(count int, do func(number int) error) func() error {
	return func() (err error) {
		done := make(chan error, count)
		for number := range count {
			go func() { done <- do(number) }()
		}
		for range count {
			err = cmp.Or(err, <-done)
		}
		return err
	}
}
