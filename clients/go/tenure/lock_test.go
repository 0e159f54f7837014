package tenure_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

type acquired struct {
	guard *tenure.Guard
	err   error
}

// Asks in the background.
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
	if guard, busy, err = client.Lock("job", nil).AcquireWithin(ctx, 50*time.Millisecond); err != nil || guard != nil {
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

func TestACancelledWaitLeavesNothing(t *testing.T) {
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
		eventually(t, "it waits no more", func() bool { return waiters(t, client, "job") == 0 })
	}
	if err := guard.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if holder := must(client.GetLock(ctx, "job")).Holder(); holder != nil {
		t.Errorf("%+v", holder)
	}
	eventually(t, "the sessions that were opened for it are closed", func() bool {
		count := 0
		for _, err := range client.ListSessions(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			count++
		}
		return count == 2
	})
}

func TestACancelledWaitGivesTheGrantToTheNext(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	session := must(client.OpenSession(ctx, nil))
	for range 50 {
		cancelled, cancel := context.WithCancel(ctx)
		waiting := acquiring(cancelled, session.Lock("job", nil))
		next := acquiring(ctx, session.Lock("job", nil))
		cancel()
		if came := receive(t, "the one that was cancelled", waiting); came.guard != nil {
			must(0, came.guard.Release(ctx))
		}
		must(0, receive(t, "the next", next).guard.Release(ctx))
	}
	if lock := must(client.GetLock(ctx, "job")); len(lock.Holders) > 0 || lock.WaiterCount > 0 {
		t.Errorf("%+v", lock)
	}
}

func TestGoroutinesOfOneSessionTakeTurns(t *testing.T) {
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
	if !errors.As(err, &refused) || refused.Reason != tenure.ReasonLimitMismatch || refused.Metadata["limit"] != "3" {
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

func TestWhatIsOutOfBoundsIsRefused(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	_, err := client.OpenSession(ctx, &tenure.SessionOptions{TTL: time.Millisecond})
	var refused *tenure.RefusedError
	if !errors.Is(err, tenure.ErrRefused) || !errors.As(err, &refused) || refused.Metadata["field"] != "ttl" {
		t.Errorf("%v", err)
	}
	session := must(client.OpenSession(ctx, &tenure.SessionOptions{ID: "mine"}))
	if _, err := client.OpenSession(ctx, &tenure.SessionOptions{ID: "mine"}); !errors.Is(err, tenure.ErrInvalid) {
		t.Errorf("%v", err)
	}
	for _, names := range [][]string{nil, {"a", "a"}} {
		if _, err := session.Locks(names, nil).Acquire(ctx); !errors.Is(err, tenure.ErrInvalid) {
			t.Errorf("%v: %v", names, err)
		}
	}
	must(0, session.Close(ctx))
	if _, err := session.Lock("a", nil).Acquire(ctx); !errors.Is(err, tenure.ErrLost) {
		t.Errorf("%v", err)
	}
	again := must(client.OpenSession(ctx, &tenure.SessionOptions{ID: "mine"}))
	if session.IsValid() || !again.IsValid() {
		t.Error("the old one is not the new one")
	}
}

func TestACloseGivesEverythingBack(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	first, second := server.client(), server.client()
	guard := must(first.Lock("job", nil).Acquire(ctx))
	must(0, first.Close(ctx))
	if err := guard.Err(); !errors.Is(err, tenure.ErrLost) {
		t.Errorf("%v", err)
	}
	if _, _, err := second.Lock("job", nil).TryAcquire(ctx); err != nil {
		t.Error(err)
	}
	if holder := must(second.GetLock(ctx, "job")).Holder(); holder == nil || holder.Token <= guard.Token() {
		t.Errorf("%+v", holder)
	}
	if _, err := first.Lock("job", nil).Acquire(ctx); !errors.Is(err, tenure.ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := first.GetLock(ctx, "job"); !errors.Is(err, tenure.ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestALockerIsALock(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	locker := client.Lock("job", nil).Locker(ctx)
	locker.Lock()
	token := locker.Hold().Token()
	other := client.Lock("job", nil).Locker(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		other.Lock()
		defer other.Unlock()
		if other.Hold().Token() <= token {
			t.Error("no higher token")
		}
	}()
	eventually(t, "the other waits", func() bool { return waiters(t, client, "job") == 1 })
	locker.Unlock()
	receive(t, "the other", done)
	if locker.Hold() != nil {
		t.Error("held after Unlock")
	}
}

func TestWithoutAServerACallEnds(t *testing.T) {
	client, err := tenure.Connect(&tenure.Options{
		Endpoints: []string{freeAddress(t)}, CallTimeout: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := patiently(t)
	if _, err := client.Lock("job", nil).Acquire(ctx); !errors.Is(err, tenure.ErrUnavailable) || !tenure.IsTransient(err) {
		t.Errorf("%v", err)
	}
	if _, err := client.GetLock(ctx, "job"); !errors.Is(err, tenure.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := client.GetLock(soon, "job"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := client.Close(ctx); err != nil && !errors.Is(err, tenure.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}
