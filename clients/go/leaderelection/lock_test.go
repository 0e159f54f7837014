package leaderelection_test

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	client_go "k8s.io/client-go/tools/leaderelection"

	"github.com/tenure-lock/tenure/clients/go/leaderelection"
	"github.com/tenure-lock/tenure/clients/go/tenure"
)

const (
	patience      = 60 * time.Second
	leaseDuration = 3 * time.Second
	renewDeadline = 2 * time.Second
	retryPeriod   = 200 * time.Millisecond
)

// Where a server of its own listens.
func startServer(t *testing.T) string {
	t.Helper()
	if os.Getenv("TENURED") == "" {
		t.Skip("TENURED does not tell where the server is")
	}
	address, folder := "", t.TempDir()
	eventually(t, "the server listens", func() bool {
		address = freeAddress(t)
		server := exec.Command(os.Getenv("TENURED"), "--listen", address, "--admin-listen", freeAddress(t),
			"--store-url", "sqlite:"+filepath.Join(folder, "tenure.db"), "--log-level", "warn")
		server.Stderr = os.Stderr
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = server.Wait()
		}()
		t.Cleanup(func() {
			_ = server.Process.Kill()
			<-ended
		})
		// Somebody else may have taken the port meanwhile.
		return listens(address, ended)
	})
	return address
}

// Whether a server comes to listen before it ends.
func listens(address string, ended <-chan struct{}) bool {
	for {
		select {
		case <-ended:
			return false
		case <-time.After(5 * time.Millisecond):
		}
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			select {
			case <-ended:
				return false
			case <-time.After(50 * time.Millisecond):
				return true
			}
		}
	}
}

// Waits for a condition.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// A way to the server, until it is cut. Answers where it begins.
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

// A candidate that runs client-go's elector. Its name is told to started and stopped as it leads and does no more.
type candidate struct {
	name    string
	lock    *leaderelection.Lock
	started chan uint64
	stopped chan time.Time
	stop    context.CancelFunc
}

func startCandidate(t *testing.T, name, server string) *candidate {
	t.Helper()
	client, err := tenure.Connect(&tenure.Options{Endpoints: []string{server}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &candidate{
		name: name, lock: leaderelection.NewLock(client, "my-controller", name, renewDeadline, retryPeriod),
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
		t.Fatalf("in vain: %s", what)
		panic("unreachable")
	}
}

func TestALeaderThatStopsIsFollowedAtOnce(t *testing.T) {
	server := startServer(t)
	first := startCandidate(t, "first", server)
	token := receive(t, "the first leads", first.started)
	second := startCandidate(t, "second", server)
	record, _, err := second.lock.Get(context.Background())
	if err != nil || record.HolderIdentity != "first" || record.AcquireTime.IsZero() {
		t.Fatalf("%+v %v", record, err)
	}
	// It goes on for longer than all deadlines.
	select {
	case <-second.started:
		t.Fatal("two lead")
	case <-first.stopped:
		t.Fatal("it leads no more")
	case <-time.After(leaseDuration + renewDeadline):
	}
	first.stop()
	receive(t, "the first stops", first.stopped)
	if next := receive(t, "the second leads", second.started); next <= token {
		t.Errorf("%d after %d", next, token)
	}
}

func TestALeaderThatIsCutOffStopsBeforeTheNextOneLeads(t *testing.T) {
	server := startServer(t)
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

func TestALeaderThatIsEvictedDoesNotLeadAgainUnawares(t *testing.T) {
	server := startServer(t)
	first := startCandidate(t, "first", server)
	token := receive(t, "the first leads", first.started)
	operator, err := tenure.Connect(&tenure.Options{Endpoints: []string{server}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := operator.Evict(ctx, "my-controller", tenure.EvictOptions{Operator: "ops", Token: token}); err != nil {
		t.Fatal(err)
	}
	receive(t, "the first stops", first.stopped)
	if lock, err := operator.GetLock(ctx, "my-controller"); err != nil || lock.Holder() != nil {
		t.Errorf("%+v %v", lock, err)
	}
	if err := operator.Close(ctx); err != nil {
		t.Error(err)
	}
}
