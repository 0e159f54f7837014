package tenure_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/testserver"
	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// The longest wait for a condition.
	patience = 30 * time.Second
	// A TTL of sessions that are to expire soon, and to be renewed in time on a busy machine.
	shortTTL = 3 * time.Second
)

// A server of its own for one test.
type server struct {
	*testserver.Server
	t *testing.T
}

func startServer(t *testing.T, arguments ...string) *server {
	t.Helper()
	return &server{testserver.Start(t, arguments...), t}
}

// A client of this server.
func (s *server) client() *tenure.Client {
	s.t.Helper()
	return connect(s.t, s.Address)
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
