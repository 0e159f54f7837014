package tenure_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// The longest wait for a condition.
	patience = 30 * time.Second
	// A TTL of sessions that are to expire soon, and to be renewed in time on a busy machine.
	shortTTL = 3 * time.Second
)

// A server of its own for one test, with SQLite in a temporary folder.
type server struct {
	t       *testing.T
	address string
	admin   string
	store   string
	// Further ones of the test.
	arguments []string
	process   *os.Process
	ended     chan struct{}
}

func startServer(t *testing.T, arguments ...string) *server {
	t.Helper()
	if os.Getenv("TENURED") == "" {
		t.Skip("TENURED is not the path of a server")
	}
	s := &server{t: t, store: filepath.Join(t.TempDir(), "tenure.db"), arguments: arguments}
	t.Cleanup(s.kill)
	eventually(t, "the server listens", func() bool {
		s.kill()
		s.address, s.admin = freeAddress(t), freeAddress(t)
		// Another program may have taken a port meanwhile.
		return s.tryToStart()
	})
	return s
}

// Starts it where it was.
func (s *server) start() {
	s.t.Helper()
	if !s.tryToStart() {
		s.t.Fatal("the server did not start")
	}
}

func (s *server) tryToStart() bool {
	s.t.Helper()
	command := exec.Command(os.Getenv("TENURED"), append([]string{
		"--listen", s.address, "--admin-listen", s.admin, "--store-url", "sqlite:" + s.store, "--log-level", "warn",
	}, s.arguments...)...)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.process, s.ended = command.Process, make(chan struct{})
	go func(ended chan struct{}) {
		defer close(ended)
		_ = command.Wait()
	}(s.ended)
	for {
		select {
		case <-s.ended:
			return false
		case <-time.After(5 * time.Millisecond):
		}
		if conn, err := net.Dial("tcp", s.address); err == nil {
			_ = conn.Close()
			// It may be another program that listens.
			select {
			case <-s.ended:
				return false
			case <-time.After(50 * time.Millisecond):
				return true
			}
		}
	}
}

// As a crash.
func (s *server) kill() {
	if s.process != nil {
		_ = s.process.Kill()
		<-s.ended
		s.process = nil
	}
}

func (s *server) signal(signal syscall.Signal) {
	s.t.Helper()
	if err := s.process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}

// A client of this server.
func (s *server) client() *tenure.Client {
	s.t.Helper()
	return connect(s.t, s.address)
}

func connect(t *testing.T, endpoints ...string) *tenure.Client {
	t.Helper()
	return connectWith(t, tenure.Options{Endpoints: endpoints})
}

func connectWith(t *testing.T, options tenure.Options) *tenure.Client {
	t.Helper()
	client, err := tenure.Connect(&options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = client.Close(ctx)
	})
	return client
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

// The network between a client and a server, which can be cut.
type relay struct {
	address string
	mu      sync.Mutex
	conns   []net.Conn
	isCut   bool
	// Closed when the present connections are to pass no more bytes, and replaced.
	silenced chan struct{}
}

func startRelay(t *testing.T, to string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{address: listener.Addr().String(), silenced: make(chan struct{})}
	t.Cleanup(func() {
		_ = listener.Close()
		r.cut()
	})
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			r.mu.Lock()
			if err != nil || r.isCut {
				_ = near.Close()
			}
			if err == nil && r.isCut {
				_ = far.Close()
			}
			if err == nil && !r.isCut {
				r.conns = append(r.conns, near, far)
				go pipe(near, far, r.silenced)
				go pipe(far, near, r.silenced)
			}
			r.mu.Unlock()
		}
	}()
	return r
}

func pipe(to, from net.Conn, silenced <-chan struct{}) {
	defer func() { _ = to.Close() }()
	bytes := make([]byte, 1<<16)
	for {
		count, err := from.Read(bytes)
		select {
		case <-silenced:
			// Still read, so that the sender notices nothing.
			_, _ = io.Copy(io.Discard, from)
			return
		default:
		}
		if _, failure := to.Write(bytes[:count]); err != nil || failure != nil {
			return
		}
	}
}

// Passes no more bytes over the present connections, without closing them. New ones work.
func (r *relay) silence() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.silenced)
	r.silenced = make(chan struct{})
}

// Closes all connections, and accepts no more until it is healed.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isCut = true
	for _, conn := range r.conns {
		_ = conn.Close()
	}
	r.conns = nil
}

func (r *relay) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isCut = false
}

// A context that ends when a test has waited long enough.
func patiently(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Waits for a channel to be closed or to give something.
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

func must[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("unexpected: %v", err))
	}
	return value
}

func waiters(t *testing.T, client *tenure.Client, name string) uint64 {
	t.Helper()
	return getLock(t, client, name).WaiterCount
}

func getLock(t *testing.T, client *tenure.Client, name string) *tenurev1.Lock {
	t.Helper()
	return must(client.GetLock(patiently(t), &tenurev1.GetLockRequest{Name: name})).Lock
}

func sessions(t *testing.T, client *tenure.Client) int {
	t.Helper()
	count := 0
	request := &tenurev1.ListSessionsRequest{}
	for _, err := range tenure.Pages(patiently(t), client.ListSessions, request, (*tenurev1.ListSessionsResponse).GetSessions) {
		must(0, err)
		count++
	}
	return count
}
