package link

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-lock/tenure/clients/go/internal/engine"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// A server whose streams end with this; without it they stay open.
type scripted struct {
	tenurev1.UnimplementedClientServiceServer
	refusal error
}

func (s *scripted) Stream(stream grpc.BidiStreamingServer[tenurev1.StreamRequest, tenurev1.StreamResponse]) error {
	if s.refusal != nil {
		return s.refusal
	}
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func serve(t *testing.T, refusal error) Endpoint {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := grpc.NewServer()
	tenurev1.RegisterClientServiceServer(served, &scripted{refusal: refusal})
	go func() { _ = served.Serve(listener) }()
	t.Cleanup(served.Stop)
	return Endpoint{Address: listener.Addr().String()}
}

// One round, in this order.
func round(endpoints ...Endpoint) outcome {
	var order []server
	for place, endpoint := range endpoints {
		order = append(order, server{place: place, endpoint: endpoint})
	}
	return dialler{secure: Security{}.dialOptions, limit: 10 * time.Second}.dial(context.Background(), order, longestStagger)
}

func unauthenticated(t *testing.T) error {
	t.Helper()
	answer, err := status.New(codes.Unauthenticated, "who are you").WithDetails(&errdetails.ErrorInfo{
		Domain: "tenure", Reason: "UNAUTHENTICATED", Metadata: map[string]string{"rule": "known-token"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Err()
}

func TestRefusedCredentialsAreToldWhateverElseFails(t *testing.T) {
	stranger, other := serve(t, unauthenticated(t)), serve(t, status.Error(codes.PermissionDenied, "not here"))
	for _, order := range [][]Endpoint{{stranger}, {stranger, other}, {other, stranger}} {
		var refusal *engine.Refusal
		if came := round(order...); !errors.As(came.err, &refusal) || refusal.Metadata["rule"] != "known-token" {
			t.Errorf("%v: %v", order, came.err)
		}
	}
}

func TestAnotherRefusalOfTheStreamIsNoAnswer(t *testing.T) {
	other := serve(t, status.Error(codes.PermissionDenied, "not here"))
	var unavailable *engine.Unavailable
	came := round(other)
	if !errors.As(came.err, &unavailable) || !strings.Contains(unavailable.Problem, other.String()+": not here") {
		t.Errorf("%v", came.err)
	}
}

func TestWhoeverTakesTheStreamIsTaken(t *testing.T) {
	stranger, open := serve(t, unauthenticated(t)), serve(t, nil)
	for _, order := range [][]Endpoint{{stranger, open}, {open, stranger}} {
		came := round(order...)
		if came.stream == nil || came.stream.server.endpoint != open {
			t.Fatalf("%v: %v", order, came.err)
		}
		came.stream.end()
	}
}
