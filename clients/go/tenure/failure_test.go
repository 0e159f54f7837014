package tenure_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/testserver"
	"github.com/tenure-lock/tenure/clients/go/tenure"
)

func TestHoldsAndPlacesInQueuesOutliveACrashOfTheServer(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	client, other := server.client(), server.client()
	guard := must(client.Lock("job", nil).Acquire(ctx))
	waiting := acquiring(ctx, other.Lock("job", nil))
	eventually(t, "it waits", func() bool { return waiters(t, client, "job") == 1 })
	server.Kill()
	server.Restart()
	// A call goes over a new connection.
	lock := getLock(t, client, "job")
	if !guard.IsValid() || tenure.HolderOf(lock).GetToken() != guard.Token() || lock.WaiterCount != 1 {
		t.Fatalf("%v %+v", guard.Err(), lock)
	}
	must(0, guard.Release(ctx))
	if next := receive(t, "the grant", waiting); next.err != nil || next.guard.Token() <= guard.Token() {
		t.Fatalf("%+v", next)
	}
}

func TestTheNextEndpointIsTaken(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	first, second := startRelay(t, server.Address), startRelay(t, server.Address)
	client := connect(t, testserver.FreeAddress(t), first.address, second.address)
	guard := must(client.Lock("job", &tenure.LockOptions{
		Session: tenure.SessionOptions{TTL: 20 * time.Second, DisconnectGrace: 5 * time.Second},
	}).Acquire(ctx))
	for _, way := range []*relay{first, second, first} {
		way.cut()
		if lock := getLock(t, client, "job"); tenure.HolderOf(lock).GetToken() != guard.Token() {
			t.Fatalf("%+v", lock)
		}
		way.heal()
	}
	must(0, guard.Release(ctx))
}

func TestSilentConnectionIsReplaced(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	way := startRelay(t, server.Address)
	client := connect(t, way.address)
	const ttl = 2 * shortTTL
	guard := must(client.Lock("job", &tenure.LockOptions{Session: tenure.SessionOptions{TTL: ttl}}).Acquire(ctx))
	for range 2 {
		way.silence()
		// Validity that only a renewal over a new connection can have given.
		begun := time.Now()
		eventually(t, "it is renewed", func() bool {
			must(0, guard.Err())
			return guard.Session().ValidUntil().After(begun.Add(ttl))
		})
	}
	must(0, guard.Release(ctx))
}

func TestSilenceEndsASessionBeforeTheServerDoes(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	client := server.client()
	session := must(client.OpenSession(ctx, &tenure.SessionOptions{TTL: shortTTL}))
	frozen, until := time.Now(), time.Now()
	err := session.Lock("job", nil).Do(ctx, func(ctx context.Context, hold *tenure.Hold) error {
		server.Signal(syscall.SIGSTOP)
		frozen = time.Now()
		until = session.ValidUntil()
		<-ctx.Done()
		if hold.IsValid() || !errors.Is(context.Cause(ctx), tenure.ErrLost) {
			t.Errorf("cancelled while valid: %v", context.Cause(ctx))
		}
		return nil
	})
	server.Signal(syscall.SIGCONT)
	var lost *tenure.LostError
	if !errors.As(err, &lost) || lost.Reason != tenure.LostUnrenewed {
		t.Errorf("%v", err)
	}
	if left := until.Sub(frozen); left > shortTTL {
		t.Errorf("valid for %v", left)
	}
	if took := time.Since(frozen); took > 2*shortTTL {
		t.Errorf("lost after %v", took)
	}
	if session.State() != tenure.Lost {
		t.Errorf("%v", session.State())
	}
	// It is withdrawn once there is a server again: the next one need not wait for its TTL.
	must(client.Lock("job", nil).Acquire(ctx))
}

func TestSessionIsAtRiskBeforeItIsLost(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	way := startRelay(t, server.Address)
	session := must(connect(t, way.address).OpenSession(ctx, &tenure.SessionOptions{TTL: shortTTL}))
	var states []tenure.SessionState
	for state := range session.States(ctx) {
		states = append(states, state)
		switch {
		case state == tenure.AtRisk && len(states) == 2:
			way.heal()
		case state == tenure.Healthy || state == tenure.AtRisk:
			way.cut()
		}
		if state == tenure.Healthy && len(states) == 3 {
			if left := time.Until(session.ValidUntil()); left <= 0 || left > shortTTL {
				t.Errorf("valid for %v", left)
			}
		}
	}
	want := []tenure.SessionState{tenure.Healthy, tenure.AtRisk, tenure.Healthy, tenure.AtRisk, tenure.Lost}
	if len(states) != len(want) {
		t.Fatalf("%v", states)
	}
	for place := range want {
		if states[place] != want[place] {
			t.Fatalf("%v", states)
		}
	}
}

func TestWithoutTicksTheNextOneHasTheLock(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	client := server.client()
	guard := must(client.Lock("job", &tenure.LockOptions{
		Session: tenure.SessionOptions{TTL: shortTTL}, StallAfter: 300 * time.Millisecond,
	}).Acquire(ctx))
	waiting := acquiring(ctx, client.Lock("job", nil))
	receive(t, "its loss", guard.Lost())
	var lost *tenure.LostError
	if err := guard.Err(); !errors.As(err, &lost) || lost.Reason != tenure.LostStalled {
		t.Errorf("%v", err)
	}
	if next := receive(t, "the grant", waiting); next.err != nil {
		t.Error(next.err)
	}
}

func TestDeadProcessIsReplaced(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	client := server.client()
	driver := startDriver(t)
	driver.ask(t, map[string]any{"do": "connect", "client": "c", "endpoints": []string{server.Address}})
	held := driver.ask(t, map[string]any{
		"do": "acquire", "client": "c", "guard": "g", "names": []string{"job"}, "ttl_ms": shortTTL.Milliseconds(),
	})
	waiting := acquiring(ctx, client.Lock("job", nil))
	eventually(t, "it waits", func() bool { return waiters(t, client, "job") == 1 })
	died := time.Now()
	must(0, driver.process.Signal(os.Kill))
	next := receive(t, "the grant", waiting)
	if next.err != nil || float64(next.guard.Token()) <= held["token"].(float64) {
		t.Fatalf("%+v", next)
	}
	// What is promised, and what a busy machine may take on top.
	if took := time.Since(died); took > shortTTL+50*time.Millisecond+2*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestFrozenProcessHasLostItsHoldWhenItResumes(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	client := server.client()
	driver := startDriver(t)
	driver.ask(t, map[string]any{"do": "connect", "client": "c", "endpoints": []string{server.Address}})
	driver.ask(t, map[string]any{
		"do": "acquire", "client": "c", "guard": "g", "names": []string{"job"}, "ttl_ms": shortTTL.Milliseconds(),
	})
	must(0, driver.process.Signal(syscall.SIGSTOP))
	guard := must(client.Lock("job", nil).Acquire(ctx))
	must(0, driver.process.Signal(syscall.SIGCONT))
	hold := driver.ask(t, map[string]any{"do": "hold", "guard": "g"})
	if hold["valid"] != false || hold["lost"] == nil {
		t.Errorf("%v", hold)
	}
	driver.ask(t, map[string]any{"do": "await_lost", "guard": "g"})
	must(0, guard.Release(ctx))
}
