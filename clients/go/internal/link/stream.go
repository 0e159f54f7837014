package link

import (
	"context"
	"runtime"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// An open stream to one server.
type stream struct {
	server   server
	wire     *wire
	commands grpc.BidiStreamingClient[tenurev1.StreamRequest, tenurev1.StreamResponse]
	cancel   context.CancelFunc
	kicked   chan struct{}
	done     <-chan struct{}
}

// There is something to send.
func (s *stream) kick() {
	select {
	case s.kicked <- struct{}{}:
	default:
	}
}

func (s *stream) start(link *Link) {
	go s.receive(link)
	go s.send(link)
}

func (s *stream) end() {
	s.cancel()
	s.wire.release()
}

func (s *stream) receive(link *Link) {
	for {
		response, err := s.commands.Recv()
		link.mu.Lock()
		if link.current != s {
			isParked := link.parked == s
			link.mu.Unlock()
			if err != nil || !isParked {
				return
			}
			// What is said on a stream that was left does not count.
			continue
		}
		if err != nil {
			link.hangUp(status.Convert(err).Message())
			link.mu.Unlock()
			link.nudge()
			return
		}
		link.engine.Received(response, clock.Now())
		link.kick()
		link.mu.Unlock()
		link.nudge()
	}
}

func (s *stream) send(link *Link) {
	for {
		select {
		case <-s.kicked:
		case <-s.done:
			return
		}
		// Those who were answered by the same message ask for the next thing at the same time: what they ask for goes out in the
		// same message too.
		runtime.Gosched()
		for {
			link.mu.Lock()
			var commands []*tenurev1.Command
			if link.current == s {
				commands = link.engine.TakeOutgoing(commandsPerMessage)
			}
			link.mu.Unlock()
			if len(commands) == 0 {
				break
			}
			if s.commands.Send(&tenurev1.StreamRequest{Commands: commands}) != nil {
				// Why is told by what is received.
				return
			}
		}
	}
}
