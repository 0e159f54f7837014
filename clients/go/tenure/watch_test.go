package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// The items of a watch, one at a time.
func pull(t *testing.T, of iter.Seq2[*tenurev1.WatchResponse, error]) func() *tenurev1.WatchResponse {
	t.Helper()
	next, stop := iter.Pull2(of)
	t.Cleanup(stop)
	return func() *tenurev1.WatchResponse {
		t.Helper()
		response, err, isThere := next()
		if err != nil || !isThere {
			t.Fatalf("the watch has ended: %v", err)
		}
		return response
	}
}

// The next items with events in them, without those of progress.
func nextEvents(next func() *tenurev1.WatchResponse) []*tenurev1.Event {
	for {
		if events := next().GetEvents(); events != nil {
			return events.Events
		}
	}
}

func TestWatchContinuesAcrossRestarts(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	client := server.client()
	session := must(client.OpenSession(ctx, nil))
	next := pull(t, client.Watch(ctx, &tenurev1.WatchRequest{Names: []string{"job"}}))
	first := next()
	locks := first.GetSnapshot().GetLocks()
	if len(locks) != 1 || tenure.HolderOf(locks[0]) != nil {
		t.Fatalf("%+v", first)
	}
	revision := first.Revision
	// Far more than is buffered for a reader that does not read.
	for range 3 {
		for range 40 {
			guard := must(session.Lock("job", nil).Acquire(ctx))
			must(0, guard.Release(ctx))
		}
		server.Kill()
		server.Restart()
	}
	seen := map[tenurev1.EventType]int{}
	for seen[tenurev1.EventType_EVENT_TYPE_ENDED] < 120 {
		for _, event := range nextEvents(next) {
			if event.Revision <= revision {
				t.Fatalf("%d after %d", event.Revision, revision)
			}
			revision = event.Revision
			seen[event.Type]++
			isRelease := len(event.VacantNames) == 1 && event.EndReason == tenurev1.EndReason_END_REASON_RELEASED
			if event.Type == tenurev1.EventType_EVENT_TYPE_ENDED && !isRelease {
				t.Fatalf("%+v", event)
			}
		}
	}
	if seen[tenurev1.EventType_EVENT_TYPE_GRANTED] != 120 {
		t.Errorf("%v", seen)
	}
}

func TestWatchEndsWithItsContextAndItsClient(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	for response, err := range client.Watch(watching, nil) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			continue
		}
		if response.GetSnapshot() != nil {
			cancel()
		}
	}
	var last error
	for response, err := range client.Watch(ctx, &tenurev1.WatchRequest{Prefixes: []string{"a"}}) {
		if last = err; response.GetSnapshot() != nil {
			must(0, client.Close(ctx))
		}
	}
	if !errors.Is(last, tenure.ErrClosed) {
		t.Errorf("%v", last)
	}
}

func TestWatchOfTooManyLocksIsRefused(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	var names []string
	for number := range 101 {
		names = append(names, fmt.Sprint(number))
	}
	count := 0
	for _, err := range client.Watch(ctx, &tenurev1.WatchRequest{Names: names}) {
		if count++; !errors.Is(err, tenure.ErrRefused) {
			t.Errorf("%v", err)
		}
	}
	if count != 1 {
		t.Errorf("%d items", count)
	}
}

func TestPagesOfAListAreJoined(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	session := must(client.OpenSession(ctx, nil))
	for number := range 5 {
		must(session.Lock(fmt.Sprintf("lock-%d", number), nil).Acquire(ctx))
	}
	read := func(prefix string, most int) (names []string) {
		request := &tenurev1.ListLocksRequest{Prefix: prefix, PageSize: 2}
		for lock, err := range tenure.Pages(ctx, client.ListLocks, request, (*tenurev1.ListLocksResponse).GetLocks) {
			must(0, err)
			if names = append(names, lock.Name); len(names) == most {
				break
			}
		}
		return names
	}
	all := []string{"lock-0", "lock-1", "lock-2", "lock-3", "lock-4"}
	if names := read("lock-", 9); !slices.Equal(names, all) {
		t.Errorf("%v", names)
	}
	if names := read("", 3); !slices.Equal(names, all[:3]) {
		t.Errorf("%v", names)
	}
	if names := read("other", 9); len(names) > 0 {
		t.Errorf("%v", names)
	}
	must(0, client.Close(ctx))
	for _, err := range tenure.Pages(
		ctx, client.ListLocks, &tenurev1.ListLocksRequest{}, (*tenurev1.ListLocksResponse).GetLocks,
	) {
		if !errors.Is(err, tenure.ErrClosed) {
			t.Errorf("%v", err)
		}
	}
}
