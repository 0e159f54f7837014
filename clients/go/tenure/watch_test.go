package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

// The items of a watch, one at a time.
func pull(t *testing.T, of iter.Seq2[tenure.WatchEvent, error]) func() tenure.WatchEvent {
	t.Helper()
	next, stop := iter.Pull2(of)
	t.Cleanup(stop)
	return func() tenure.WatchEvent {
		t.Helper()
		event, err, some := next()
		if err != nil || !some {
			t.Fatalf("the watch has ended: %v", err)
		}
		return event
	}
}

// The next items with events in them, without those of progress.
func nextEvents(next func() tenure.WatchEvent) tenure.WatchEvent {
	for {
		if event := next(); event.Kind == tenure.WatchEvents {
			return event
		}
	}
}

func TestAWatchGoesOnOverARestart(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	client := server.client()
	session := must(client.OpenSession(ctx, nil))
	next := pull(t, client.Watch(ctx, &tenure.WatchOptions{Names: []string{"job"}}))
	first := next()
	if first.Kind != tenure.WatchSnapshot || len(first.Locks) != 1 || first.Locks[0].Holder() != nil {
		t.Fatalf("%+v", first)
	}
	revision := first.Revision
	// Far more than is kept for a reader that does not read.
	for range 3 {
		for range 40 {
			guard := must(session.Lock("job", nil).Acquire(ctx))
			must(0, guard.Release(ctx))
		}
		server.kill()
		server.start()
	}
	seen := map[tenure.EventKind]int{}
	for seen[tenure.EventEnded] < 120 {
		told := nextEvents(next)
		for _, event := range told.Events {
			if event.Revision <= revision {
				t.Fatalf("%d after %d", event.Revision, revision)
			}
			revision = event.Revision
			seen[event.Kind]++
			if event.Kind == tenure.EventEnded && (!event.Vacant || event.EndReason != tenure.EndReleased) {
				t.Fatalf("%+v", event)
			}
		}
	}
	if seen[tenure.EventGranted] != 120 {
		t.Errorf("%v", seen)
	}
}

func TestAWatchEndsWithItsContextAndItsClient(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	for event, err := range client.Watch(watching, nil) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			continue
		}
		if event.Kind == tenure.WatchSnapshot {
			cancel()
		}
	}
	var last error
	for event, err := range client.Watch(ctx, &tenure.WatchOptions{Prefixes: []string{"a"}}) {
		if last = err; event.Kind == tenure.WatchSnapshot {
			must(0, client.Close(ctx))
		}
	}
	if !errors.Is(last, tenure.ErrClosed) {
		t.Errorf("%v", last)
	}
}

func TestWhatCannotBeWatchedIsTold(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	var names []string
	for number := range 101 {
		names = append(names, fmt.Sprint(number))
	}
	for _, err := range client.Watch(ctx, &tenure.WatchOptions{Names: names}) {
		if !errors.Is(err, tenure.ErrRefused) {
			t.Errorf("%v", err)
		}
	}
}
