// Package testserver runs real servers for tests.
package testserver

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const (
	// Below the range of ephemeral ports, so that no outgoing connection takes the port of a server that is stopped.
	firstPort, ports = 10_000, 10_000
	// How long a server may take to start on a busy machine.
	patience = 60 * time.Second
)

// Server is a server of its own for one test, with SQLite in a temporary folder.
type Server struct {
	Address string

	t         testing.TB
	store     string
	arguments []string
	process   *os.Process
	ended     chan struct{}
}

// Start starts the program of the environment variable TENURED, with these arguments besides, until the test is over. Skips
// the test if there is none.
func Start(t testing.TB, arguments ...string) *Server {
	t.Helper()
	if os.Getenv("TENURED") == "" {
		t.Skip("TENURED is not the path of a server")
	}
	s := &Server{Address: FreeAddress(t), t: t, store: filepath.Join(t.TempDir(), "tenure.db"), arguments: arguments}
	t.Cleanup(s.Kill)
	s.Restart()
	return s
}

// Restart starts it, on the same address and database as before, and waits until it listens.
func (s *Server) Restart() {
	s.t.Helper()
	command := exec.Command(os.Getenv("TENURED"), append([]string{
		"--listen", s.Address, "--admin-listen", "127.0.0.1:0", "--store-url", "sqlite:" + s.store, "--log-level", "warn",
	}, s.arguments...)...)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	s.process, s.ended = command.Process, ended
	go func() {
		defer close(ended)
		_ = command.Wait()
	}()
	for deadline := time.After(patience); ; {
		if conn, err := net.Dial("tcp", s.Address); err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ended:
			s.t.Fatal("the server ended instead of starting")
		case <-deadline:
			s.t.Fatal("the server does not listen")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Kill ends it, as a crash would.
func (s *Server) Kill() {
	if s.process != nil {
		_ = s.process.Kill()
		<-s.ended
		s.process = nil
	}
}

// Signal sends it a signal.
func (s *Server) Signal(signal os.Signal) {
	s.t.Helper()
	if err := s.process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}

var (
	mu sync.Mutex
	// Sockets, which the garbage collector would close.
	claims []net.PacketConn
)

// FreeAddress is an address without a listener. Until this process ends, no other test gets it: the UDP port of the same
// number is in use.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range ports {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(ports))
		claim, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		mu.Lock()
		claims = append(claims, claim)
		mu.Unlock()
		if listener, err := net.Listen("tcp", address); err == nil {
			_ = listener.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	panic("unreachable")
}
