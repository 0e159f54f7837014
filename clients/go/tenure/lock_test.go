package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/testserver"
	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

type acquired struct {
	guard *tenure.Guard
	err   error
}

// Acquires in the background.
func acquiring(ctx context.Context, lock *tenure.Lock) <-chan acquired {
	done := make(chan acquired, 1)
	go func() {
		guard, err := lock.Acquire(ctx)
		done <- acquired{guard, err}
	}()
	return done
}

func TestOneHoldsAndTheNextOneFollows(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	first := must(client.Lock("job", &tenure.LockOptions{Session: tenure.SessionOptions{Owner: "ann"}}).Acquire(ctx))
	if !first.IsValid() || first.Token() == 0 || !slices.Equal(first.Names(), []string{"job"}) {
		t.Fatalf("%v %v %v", first.IsValid(), first.Token(), first.Names())
	}
	guard, busy, err := client.Lock("job", nil).TryAcquire(ctx)
	if err != nil || guard != nil || busy.Holder.Owner != "ann" || busy.Holder.Token != first.Token() {
		t.Fatalf("%v %+v %v", guard, busy, err)
	}
	guard, busy, err = client.Lock("job", nil).AcquireWithin(ctx, 50*time.Millisecond)
	if err != nil || guard != nil || busy == nil {
		t.Fatalf("%v %+v %v", guard, busy, err)
	}
	waiting := acquiring(ctx, client.Lock("job", nil))
	eventually(t, "it waits", func() bool { return waiters(t, client, "job") == 1 })
	if err := first.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if first.IsValid() {
		t.Error("valid after its release")
	}
	second := receive(t, "the grant", waiting)
	if second.err != nil || second.guard.Token() <= first.Token() {
		t.Fatalf("%+v", second)
	}
	var lost *tenure.LostError
	if err := first.Release(ctx); !errors.As(err, &lost) || lost.Reason != tenure.LostReleased {
		t.Errorf("released twice: %v", err)
	}
}

func TestOwnerIsByDefaultTheProgramAndTheHost(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	guard := must(client.Lock("job", nil).Acquire(ctx))
	want := filepath.Base(os.Args[0]) + "@" + must(os.Hostname())
	if owner := tenure.HolderOf(getLock(t, client, "job")).Owner; owner != want || guard.Session().Owner() != want {
		t.Errorf("%q, not %q", owner, want)
	}
}

func TestCancelledWaitLeavesNothing(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	session := must(client.OpenSession(ctx, nil))
	other := must(client.OpenSession(ctx, nil))
	guard := must(session.Lock("job", nil).Acquire(ctx))
	for _, lock := range []*tenure.Lock{client.Lock("job", nil), other.Lock("job", nil)} {
		cancelled, cancel := context.WithCancel(ctx)
		waiting := acquiring(cancelled, lock)
		eventually(t, "it waits", func() bool { return waiters(t, client, "job") == 1 })
		cancel()
		if came := receive(t, "its end", waiting); !errors.Is(came.err, context.Canceled) {
			t.Fatalf("%+v", came)
		}
		eventually(t, "it no longer waits", func() bool { return waiters(t, client, "job") == 0 })
	}
	if err := guard.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if holder := tenure.HolderOf(getLock(t, client, "job")); holder != nil {
		t.Errorf("%+v", holder)
	}
	eventually(t, "the sessions that were opened for it are closed", func() bool { return sessions(t, client) == 2 })
}

func TestAcquiresCutByAShortDeadlineLeaveNoSession(t *testing.T) {
	server := startServer(t)
	client := server.client()
	// Connects.
	getLock(t, client, "job")
	var all sync.WaitGroup
	for worker := range 30 {
		all.Add(1)
		go func() {
			defer all.Done()
			for round := range 100 {
				ctx, cancel := context.WithTimeout(context.Background(), 4*time.Millisecond)
				// Every other one has to wait.
				name := "job"
				if round%2 == 0 {
					name = fmt.Sprintf("job-%d-%d", worker, round)
				}
				guard, err := client.Lock(name, nil).Acquire(ctx)
				switch {
				case err == nil:
					// Its session ends with it, also if this is the only reply that is waited for.
					must(0, guard.Release(patiently(t)))
				case !errors.Is(err, context.DeadlineExceeded):
					t.Error(err)
				}
				cancel()
			}
		}()
	}
	all.Wait()
	eventually(t, "no session is left", func() bool { return sessions(t, client) == 0 })
}

func TestCancelledWaitPassesTheGrantToTheNext(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	session := must(client.OpenSession(ctx, nil))
	for range 50 {
		cancelled, cancel := context.WithCancel(ctx)
		waiting := acquiring(cancelled, session.Lock("job", nil))
		next := acquiring(ctx, session.Lock("job", nil))
		cancel()
		if came := receive(t, "the cancelled one", waiting); came.guard != nil {
			must(0, came.guard.Release(ctx))
		}
		must(0, receive(t, "the next", next).guard.Release(ctx))
	}
	eventually(t, "the lock is idle", func() bool {
		lock := getLock(t, client, "job")
		return len(lock.Holders) == 0 && lock.WaiterCount == 0
	})
}

func TestRequestsOfOneSessionExcludeEachOther(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	session := must(client.OpenSession(ctx, nil))
	lock := session.Lock("counter", nil)
	var all sync.WaitGroup
	inside, most, last := 0, 0, uint64(0)
	for range 30 {
		all.Add(1)
		go func() {
			defer all.Done()
			err := lock.Do(ctx, func(_ context.Context, hold *tenure.Hold) error {
				inside++
				most = max(most, inside)
				if hold.Token() <= last {
					t.Errorf("%d after %d", hold.Token(), last)
				}
				last = hold.Token()
				inside--
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	if most != 1 {
		t.Errorf("%d at once", most)
	}
	guard := must(lock.Acquire(ctx))
	if _, busy, err := lock.TryAcquire(ctx); err != nil || busy.Holder.Token != guard.Token() {
		t.Errorf("%+v %v", busy, err)
	}
	if _, busy, err := lock.AcquireWithin(ctx, 30*time.Millisecond); err != nil || busy.Holder.Token != guard.Token() {
		t.Errorf("%+v %v", busy, err)
	}
}

func TestTenThousandLocksOfOneSessionTakeTimeInProportion(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	session := must(client.OpenSession(ctx, &tenure.SessionOptions{TTL: patience}))
	acquire := func(first, count int) time.Duration {
		begun := time.Now()
		var all sync.WaitGroup
		for worker := range 100 {
			all.Add(1)
			go func() {
				defer all.Done()
				for number := worker; number < count; number += 100 {
					if _, err := session.Lock(fmt.Sprintf("lock-%d", first+number), nil).Acquire(ctx); err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		all.Wait()
		return time.Since(begun)
	}
	few := acquire(0, 1_000)
	rest := acquire(1_000, 9_000)
	// Nine times as many; quadratic growth would take a hundred times as long.
	if rest > 60*few {
		t.Errorf("%v for the first thousand, and %v for the others", few, rest)
	}
	if !session.IsValid() {
		t.Error(session.Err())
	}
	must(0, session.Close(ctx))
	if lock := getLock(t, client, "lock-9999"); len(lock.Holders) > 0 {
		t.Errorf("%+v", lock)
	}
}

func TestModes(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	reader := client.Lock("book", &tenure.LockOptions{Shared: true})
	one, two := must(reader.Acquire(ctx)), must(reader.Acquire(ctx))
	if guard, _, err := client.Lock("book", nil).TryAcquire(ctx); guard != nil || err != nil {
		t.Errorf("a writer beside readers: %v", err)
	}
	must(0, one.Release(ctx))
	must(0, two.Release(ctx))
	slot := client.Lock("pool", &tenure.LockOptions{Permits: 2, Limit: 3})
	must(slot.Acquire(ctx))
	if guard, busy, err := slot.TryAcquire(ctx); guard != nil || err != nil || busy == nil {
		t.Errorf("four permits of three: %v", err)
	}
	must(client.Lock("pool", &tenure.LockOptions{Permits: 1}).Acquire(ctx))
	var refused *tenure.RefusedError
	_, err := client.Lock("pool", &tenure.LockOptions{Limit: 9}).Acquire(ctx)
	if !errors.As(err, &refused) || refused.Reason() != tenurev1.ErrorReason_ERROR_REASON_LIMIT_MISMATCH ||
		refused.Refusal.Metadata["limit"] != "3" {
		t.Errorf("%v", err)
	}
	both := must(client.Locks([]string{"b", "a"}, nil).Acquire(ctx))
	if !slices.Equal(both.Names(), []string{"a", "b"}) {
		t.Errorf("%v", both.Names())
	}
	if guard, _, err := client.Lock("a", nil).TryAcquire(ctx); guard != nil || err != nil {
		t.Errorf("one of two: %v", err)
	}
}

func TestOptionsOutOfBoundsAreRefused(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	_, err := client.OpenSession(ctx, &tenure.SessionOptions{TTL: time.Millisecond})
	var refused *tenure.RefusedError
	if !errors.Is(err, tenure.ErrRefused) || !errors.As(err, &refused) || refused.Refusal.Metadata["field"] != "ttl" {
		t.Errorf("%v", err)
	}
	if _, err := client.OpenSession(ctx, &tenure.SessionOptions{StallAfter: -1}); !errors.Is(err, tenure.ErrInvalid) {
		t.Errorf("%v", err)
	}
	session := must(client.OpenSession(ctx, &tenure.SessionOptions{ID: "mine"}))
	_, err = client.OpenSession(ctx, &tenure.SessionOptions{ID: "mine"})
	if !errors.As(err, &refused) || refused.Reason() != tenurev1.ErrorReason_ERROR_REASON_SESSION_IN_USE {
		t.Errorf("%v", err)
	}
	for _, names := range [][]string{nil, {"a", "a"}} {
		if _, err := session.Locks(names, nil).Acquire(ctx); !errors.Is(err, tenure.ErrInvalid) {
			t.Errorf("%v: %v", names, err)
		}
	}
	for _, options := range []*tenure.LockOptions{{StallAfter: -1}, {Shared: true, Permits: 1}, {Shared: true, Limit: 1}} {
		if _, err := session.Lock("a", options).Acquire(ctx); !errors.Is(err, tenure.ErrInvalid) {
			t.Errorf("%+v: %v", options, err)
		}
	}
	must(0, session.Close(ctx))
	if _, err := session.Lock("a", nil).Acquire(ctx); !errors.Is(err, tenure.ErrLost) {
		t.Errorf("%v", err)
	}
	again := must(client.OpenSession(ctx, &tenure.SessionOptions{ID: "mine"}))
	if session.IsValid() || !again.IsValid() || again.ID() != "mine" {
		t.Error("the old session is not the new one")
	}
}

func TestClosedClientHasReleasedEverything(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	first, second := server.client(), server.client()
	guard := must(first.Lock("job", nil).Acquire(ctx))
	waiting := acquiring(ctx, first.Lock("job", nil))
	eventually(t, "it waits", func() bool { return waiters(t, second, "job") == 1 })
	must(0, first.Close(ctx))
	must(0, first.Close(ctx))
	var lost *tenure.LostError
	if err := guard.Err(); !errors.As(err, &lost) || lost.Reason != tenure.LostClosed {
		t.Errorf("%v", err)
	}
	came := receive(t, "the end of the wait", waiting)
	if !errors.Is(came.err, tenure.ErrClosed) && !errors.Is(came.err, tenure.ErrLost) {
		t.Errorf("%+v", came)
	}
	if next, _, err := second.Lock("job", nil).TryAcquire(ctx); err != nil || next == nil || next.Token() <= guard.Token() {
		t.Errorf("%+v %v", next, err)
	}
	if _, err := first.Lock("job", nil).Acquire(ctx); !errors.Is(err, tenure.ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := first.GetLock(ctx, &tenurev1.GetLockRequest{Name: "job"}); !errors.Is(err, tenure.ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestWithoutAServerACallEnds(t *testing.T) {
	client := connectWith(t, tenure.Options{Endpoints: []string{testserver.FreeAddress(t)}, CallTimeout: 200 * time.Millisecond})
	ctx := patiently(t)
	_, err := client.Lock("job", nil).Acquire(ctx)
	if !errors.Is(err, tenure.ErrUnavailable) || !tenure.IsTransient(err) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
	request := &tenurev1.GetLockRequest{Name: "job"}
	if _, err := client.GetLock(ctx, request); !errors.Is(err, tenure.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := client.GetLock(soon, request); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := client.Close(ctx); err != nil {
		t.Errorf("there is nothing to close: %v", err)
	}
}

func TestCallWhoseContextIsDoneRequestsNothing(t *testing.T) {
	client := connectWith(t, tenure.Options{Endpoints: []string{testserver.FreeAddress(t)}})
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why")
	cancel(why)
	if _, err := client.OpenSession(ctx, nil); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if _, err := client.Lock("job", nil).Acquire(ctx); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}
