package leaderelection_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	client_go "k8s.io/client-go/tools/leaderelection"

	"github.com/tenure-lock/tenure/clients/go/internal/testserver"
	"github.com/tenure-lock/tenure/clients/go/leaderelection"
	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	patience      = 60 * time.Second
	leaseDuration = 4 * time.Second
	renewDeadline = 2 * time.Second
	retryPeriod   = 200 * time.Millisecond
)

// Waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
		}
	}
}

// A relay to the server, until it is cut.
func startRelay(t *testing.T, to string) (address string, cut func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			mu.Lock()
			conns = append(conns, near, far)
			mu.Unlock()
			go func() { _, _ = io.Copy(far, near) }()
			go func() { _, _ = io.Copy(near, far) }()
		}
	}()
	cut = func() {
		_ = listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
	t.Cleanup(cut)
	return listener.Addr().String(), cut
}

// A candidate that runs client-go's elector, and reports when it begins and stops leading.
type candidate struct {
	client  *tenure.Client
	lock    *leaderelection.Lock
	started chan uint64
	stopped chan time.Time
	stop    context.CancelFunc
}

func startCandidate(t *testing.T, name, server string) *candidate {
	t.Helper()
	return startCandidateWith(t, name, server, leaderelection.Options{})
}

func startCandidateWith(t *testing.T, name, server string, further leaderelection.Options) *candidate {
	t.Helper()
	options := &further
	options.RenewDeadline, options.RetryPeriod = renewDeadline, retryPeriod
	client, err := tenure.Connect(&tenure.Options{Endpoints: []string{server}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &candidate{
		client: client, lock: leaderelection.NewLock(client, "my-controller", name, options),
		started: make(chan uint64, 1), stopped: make(chan time.Time, 1), stop: stop,
	}
	elector, err := client_go.NewLeaderElector(client_go.LeaderElectionConfig{
		Lock:            c.lock,
		LeaseDuration:   leaseDuration,
		RenewDeadline:   renewDeadline,
		RetryPeriod:     retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: client_go.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { c.started <- c.lock.Hold().Token() },
			OnStoppedLeading: func() { c.stopped <- time.Now() },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = client.Close(closing)
	})
	return c
}

func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatalf("timed out: %s", what)
		panic("unreachable")
	}
}

func TestLeaderThatStopsIsReplacedAtOnce(t *testing.T) {
	server := testserver.Start(t).Address
	first := startCandidate(t, "first", server)
	token := receive(t, "the first leads", first.started)
	second := startCandidate(t, "second", server)
	record, _, err := second.lock.Get(context.Background())
	if err != nil || record.HolderIdentity != "first" || record.AcquireTime.IsZero() {
		t.Fatalf("%+v %v", record, err)
	}
	// It leads for longer than all deadlines.
	renewed := record.RenewTime.Add(leaseDuration + renewDeadline)
	eventually(t, "the first is still renewed", func() bool {
		record, _, err := second.lock.Get(context.Background())
		if err != nil || record.HolderIdentity != "first" {
			t.Fatalf("%+v %v", record, err)
		}
		return record.RenewTime.After(renewed)
	})
	select {
	case <-second.started:
		t.Fatal("two lead")
	case <-first.stopped:
		t.Fatal("it has stopped")
	default:
	}
	first.stop()
	receive(t, "the first stops", first.stopped)
	if next := receive(t, "the second leads", second.started); next <= token {
		t.Errorf("%d after %d", next, token)
	}
}

func TestLeaderThatIsCutOffStopsBeforeTheNextOneLeads(t *testing.T) {
	server := testserver.Start(t).Address
	way, cut := startRelay(t, server)
	first := startCandidate(t, "first", way)
	receive(t, "the first leads", first.started)
	second := startCandidate(t, "second", server)
	cut()
	receive(t, "the second leads", second.started)
	led := time.Now()
	if stopped := receive(t, "the first stops", first.stopped); stopped.After(led) {
		t.Errorf("two led for %v", stopped.Sub(led))
	}
}

func TestEvictedLeaderStopsBeforeItLeadsAgain(t *testing.T) {
	server := testserver.Start(t).Address
	first := startCandidate(t, "first", server)
	token := receive(t, "the first leads", first.started)
	operator, err := tenure.Connect(&tenure.Options{Endpoints: []string{server}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request := &tenurev1.EvictRequest{Name: "my-controller", Operator: "ops", Token: token}
	if _, err := operator.Evict(ctx, request); err != nil {
		t.Fatal(err)
	}
	receive(t, "the first stops", first.stopped)
	reply, err := operator.GetLock(ctx, &tenurev1.GetLockRequest{Name: "my-controller"})
	if err != nil || tenure.HolderOf(reply.Lock) != nil {
		t.Errorf("%+v %v", reply, err)
	}
	if err := operator.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestLeaderTransitionsAreCounted(t *testing.T) {
	server := testserver.Start(t).Address
	for transitions, name := range []string{"first", "second", "first"} {
		c := startCandidate(t, name, server)
		receive(t, "it leads", c.started)
		record, _, err := c.lock.Get(context.Background())
		if err != nil || record.LeaderTransitions != transitions || record.HolderIdentity != name {
			t.Errorf("%d: %+v %v", transitions, record, err)
		}
		c.stop()
		receive(t, "it stops", c.stopped)
		eventually(t, "the lock is free", func() bool {
			reply, err := c.client.GetLock(context.Background(), &tenurev1.GetLockRequest{Name: "my-controller"})
			return err == nil && tenure.HolderOf(reply.Lock) == nil
		})
	}
}

func TestLeaseDurationGraceAndMetadataHaveTheirEffect(t *testing.T) {
	const grace = 3500 * time.Millisecond
	server := testserver.Start(t).Address
	c := startCandidateWith(t, "first", server, leaderelection.Options{
		DisconnectGrace: grace, Metadata: map[string]string{"zone": "east"},
	})
	receive(t, "it leads", c.started)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	reply, err := c.client.GetLock(ctx, &tenurev1.GetLockRequest{Name: "my-controller"})
	if err != nil {
		t.Fatal(err)
	}
	holder := tenure.HolderOf(reply.Lock)
	if holder.GetMetadata()["zone"] != "east" || holder.GetOwner() != "first" {
		t.Errorf("%+v", holder)
	}
	session, err := c.client.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: holder.GetSessionId()})
	got := session.GetSession()
	if err != nil || got.Ttl.AsDuration() != leaseDuration || got.DisconnectGrace.AsDuration() != grace {
		t.Errorf("%+v %v", session, err)
	}
}
