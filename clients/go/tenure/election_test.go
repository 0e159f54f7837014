package tenure_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func TestOneLeadsAndTheNextOneFollows(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	client := server.client()
	election := client.Election("chief", &tenure.LockOptions{Session: tenure.SessionOptions{Owner: "first"}})
	next, stop := iter.Pull2(election.Observe(ctx))
	defer stop()
	observed := func() *tenurev1.Claim {
		leader, err, _ := next()
		if err != nil {
			t.Fatal(err)
		}
		return leader
	}
	if leader := observed(); leader != nil {
		t.Fatalf("%+v", leader)
	}
	first := must(election.Campaign(ctx))
	if leader := observed(); leader == nil || leader.Token != first.Token() || leader.Owner != "first" {
		t.Fatalf("%+v", leader)
	}
	terms := make(chan uint64, 2)
	leading, stopLeading := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- server.client().Election("chief", nil).
			Lead(leading, func(ctx context.Context, hold *tenure.Hold) error {
				terms <- hold.Token()
				if len(terms) < 2 {
					return nil
				}
				<-ctx.Done()
				return nil
			})
	}()
	eventually(t, "it waits", func() bool { return waiters(t, client, "chief") == 1 })
	must(0, first.Release(ctx))
	one, two := receive(t, "a term", terms), uint64(0)
	for two == 0 {
		two = receive(t, "the next term", terms)
	}
	if !(first.Token() < one && one < two) {
		t.Errorf("%d %d %d", first.Token(), one, two)
	}
	stopLeading()
	if err := receive(t, "the end", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if leader := must(election.Leader(ctx)); leader != nil {
		t.Errorf("%+v", leader)
	}
}

func TestLeaderWorksEveryPeriodUntilItsError(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	enough := errors.New("enough")
	times, begun := 0, time.Now()
	err := client.Election("chief", nil).LeadEvery(ctx, 50*time.Millisecond, func(context.Context, *tenure.Hold) error {
		if times++; times == 4 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || times != 4 {
		t.Errorf("%v after %d", err, times)
	}
	if took := time.Since(begun); took < 150*time.Millisecond {
		t.Errorf("it took %v", took)
	}
	if err := client.Election("chief", nil).LeadEvery(ctx, 0, nil); !errors.Is(err, tenure.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

func TestHandoffIsConfirmedInTime(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	client := server.client()
	began, causes := make(chan uint64, 9), make(chan error, 9)
	go func() {
		_ = client.Election("chief", nil).Lead(ctx, func(ctx context.Context, hold *tenure.Hold) error {
			began <- hold.Token()
			<-ctx.Done()
			causes <- hold.Err()
			return nil
		})
	}()
	first := receive(t, "a term", began)
	other := server.client()
	waiting := acquiring(ctx, other.Lock("chief", nil))
	eventually(t, "it waits", func() bool { return waiters(t, client, "chief") == 1 })
	drain := durationpb.New(5 * time.Second)
	claim, err := other.Transfer(ctx, &tenurev1.TransferRequest{Name: "chief", Operator: "ops", Drain: drain})
	if err != nil || claim.Token <= first {
		t.Fatalf("%+v %v", claim, err)
	}
	if err := receive(t, "the body's end", causes); err != nil {
		t.Errorf("it had to stop while it still led: %v", err)
	}
	if next := receive(t, "the grant", waiting); next.err != nil || next.guard.Token() != claim.Token {
		t.Errorf("%+v", next)
	}
}

func TestHolderHandsOver(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	client := server.client()
	guard := must(client.Lock("job", nil).Acquire(ctx))
	if _, err := must(client.Lock("idle", nil).Acquire(ctx)).TransferTo(ctx, ""); !errors.Is(err, tenure.ErrRefused) {
		t.Errorf("%v", err)
	}
	session := must(client.OpenSession(ctx, nil))
	waiting := acquiring(ctx, session.Lock("job", nil))
	eventually(t, "it waits", func() bool { return waiters(t, client, "job") == 1 })
	token := must(guard.TransferTo(ctx, session.ID()))
	if next := receive(t, "the grant", waiting); next.err != nil || next.guard.Token() != token || guard.IsValid() {
		t.Errorf("%+v %v", next, guard.Err())
	}
}

func TestOperatorsEvict(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	guard := must(client.Lock("job", &tenure.LockOptions{Metadata: map[string]string{"a": "1"}}).Acquire(ctx))
	must(0, guard.UpdateMetadata(ctx, map[string]string{"b": "2"}))
	holder := tenure.HolderOf(getLock(t, client, "job"))
	if holder.Metadata["b"] != "2" || holder.Metadata["a"] != "" {
		t.Errorf("%v", holder.Metadata)
	}
	request := &tenurev1.EvictRequest{Name: "job", Operator: "ops", Note: "stuck", Token: guard.Token()}
	evicted := must(client.Evict(ctx, request)).Evicted
	if len(evicted) != 1 || evicted[0].Token != guard.Token() {
		t.Errorf("%+v", evicted)
	}
	receive(t, "its loss", guard.Lost())
	var lost *tenure.LostError
	if err := guard.Err(); !errors.As(err, &lost) || lost.Reason != tenure.LostEnded ||
		lost.Ended.Reason != tenurev1.EndReason_END_REASON_EVICTED || err.Error() != "lost: evicted by ops (stuck)" {
		t.Errorf("%+v", err)
	}
	history := must(client.ListHistory(ctx, &tenurev1.ListHistoryRequest{Name: "job"})).Entries
	if len(history) != 1 || history[0].GetHold().EndReason != tenurev1.EndReason_END_REASON_EVICTED {
		t.Errorf("%+v", history)
	}
	settings := &tenurev1.LockSettings{Limit: 4}
	reply := must(client.ConfigureLock(ctx, &tenurev1.ConfigureLockRequest{Name: "job", Settings: settings, Operator: "ops"}))
	if reply.Lock.Settings.Limit != 4 {
		t.Errorf("%+v", reply)
	}
}
