package transport

import (
	"errors"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/internal/protocol"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const timeout = 30 * time.Second

// A server that rejects streams; or, without an error, records their messages, and welcomes them if it is to.
type scripted struct {
	tenurev1.UnimplementedClientServiceServer
	rejection error
	welcomes  bool
	hellos    chan *tenurev1.Hello
	ended     chan uint64
}

func (s *scripted) Connect(stream grpc.BidiStreamingServer[tenurev1.ConnectRequest, tenurev1.ConnectResponse]) error {
	if s.rejection != nil {
		return s.rejection
	}
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	hello := first.GetHello()
	s.hellos <- hello
	if s.welcomes {
		welcome := &tenurev1.ConnectResponse_Welcome{Welcome: &tenurev1.Welcome{}}
		if err := stream.Send(&tenurev1.ConnectResponse{Kind: welcome}); err != nil {
			return err
		}
	}
	for err == nil {
		_, err = stream.Recv()
	}
	s.ended <- hello.Epoch
	return nil
}

func serve(t *testing.T, server *scripted) *url.URL {
	t.Helper()
	server.hellos, server.ended = make(chan *tenurev1.Hello, 100), make(chan uint64, 100)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := grpc.NewServer()
	tenurev1.RegisterClientServiceServer(served, server)
	go func() { _ = served.Serve(listener) }()
	t.Cleanup(served.Stop)
	return &url.URL{Scheme: "http", Host: listener.Addr().String()}
}

// A driver that does not connect by itself.
func idle(t *testing.T, endpoints ...*url.URL) *Driver {
	t.Helper()
	secure := func(*url.URL) []grpc.DialOption {
		return []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	}
	d := newDriver("", endpoints, secure, timeout/3, slog.New(slog.DiscardHandler))
	t.Cleanup(d.end)
	return d
}

func rejection(t *testing.T, code codes.Code, reason string) error {
	t.Helper()
	answer, err := status.New(code, "not here").WithDetails(&errdetails.ErrorInfo{
		Domain: "tenure", Reason: reason, Metadata: map[string]string{"rule": "known-token"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Err()
}

func TestRejectedCredentialsAreReportedWhateverElseFails(t *testing.T) {
	unauthenticated := serve(t, &scripted{rejection: rejection(t, codes.Unauthenticated, "UNAUTHENTICATED")})
	other := serve(t, &scripted{rejection: status.Error(codes.PermissionDenied, "not here")})
	for _, order := range [][]*url.URL{{unauthenticated}, {unauthenticated, other}, {other, unauthenticated}} {
		_, err := idle(t, order...).dial(0)
		if refusal := Refusal(err); refusal.GetReason() != "UNAUTHENTICATED" || refusal.Metadata["rule"] != "known-token" {
			t.Errorf("%v: %v", order, err)
		}
	}
}

func TestAnotherRejectionOfTheStreamIsAProblemOfTheEndpoint(t *testing.T) {
	other := serve(t, &scripted{rejection: status.Error(codes.PermissionDenied, "not here")})
	_, err := idle(t, other).dial(0)
	if Refusal(err) != nil || !strings.Contains(err.Error(), other.String()+": not here") {
		t.Errorf("%v", err)
	}
}

func TestFirstEndpointThatOpensAStreamIsUsed(t *testing.T) {
	unauthenticated := serve(t, &scripted{rejection: rejection(t, codes.Unauthenticated, "UNAUTHENTICATED")})
	open := serve(t, &scripted{})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	hung := &url.URL{Scheme: "http", Host: silent.Addr().String()}
	for _, order := range [][]*url.URL{{unauthenticated, open}, {open, unauthenticated}, {hung, open}} {
		opened, err := idle(t, order...).dial(0)
		if err != nil || order[opened.endpoint] != open {
			t.Fatalf("%v: %v", order, err)
		}
		opened.close()
	}
}

func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(timeout):
		t.Fatalf("timed out: %s", what)
		panic("unreachable")
	}
}

func TestLastStreamIsKeptUntilTheNextOneIsWelcomed(t *testing.T) {
	first, second, third := &scripted{welcomes: true}, &scripted{}, &scripted{welcomes: true}
	d := idle(t, serve(t, first), serve(t, second), serve(t, third))
	connect := func(endpoint int) {
		t.Helper()
		opened, err := d.dial(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		d.connected(opened)
	}
	connect(0)
	receive(t, "the first Hello", first.hellos)
	welcomed := func() bool {
		d.Lock()
		defer d.Unlock()
		return d.welcomed != 0
	}
	for deadline := time.Now().Add(timeout); !welcomed(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("timed out: the first Welcome")
		}
	}
	connect(1)
	receive(t, "the second Hello", second.hellos)
	connect(2)
	receive(t, "the third Hello", third.hellos)
	// It was never welcomed.
	receive(t, "the end of the second stream", second.ended)
	receive(t, "the end of the first stream", first.ended)
	if !welcomed() {
		t.Error("the first stream was ended before the third one was welcomed")
	}
}

func TestSupersededClientContinuesUnderANewID(t *testing.T) {
	superseded := &scripted{rejection: rejection(t, codes.FailedPrecondition, "CLIENT_SUPERSEDED")}
	open := &scripted{welcomes: true}
	d := idle(t, serve(t, open))
	opened, err := d.dial(0)
	if err != nil {
		t.Fatal(err)
	}
	d.connected(opened)
	before := receive(t, "the Hello", open.hellos)
	var session *protocol.Item
	func() {
		p, now := d.Lock()
		defer d.Unlock()
		session, _ = p.Declare(nil, &tenurev1.Declaration{Open: &tenurev1.DeclaredSession{}}, now)
		d.disconnected(opened, superseded.rejection)
	}()
	receive(t, "the loss of the session", session.Lost)
	if session.Loss.Reason != protocol.InUse {
		t.Errorf("%+v", session.Loss)
	}
	if opened, err = d.dial(0); err != nil {
		t.Fatal(err)
	}
	d.connected(opened)
	if after := receive(t, "the next Hello", open.hellos); after.ClientId == before.ClientId || len(after.ClientId) < 16 {
		t.Errorf("%v after %v", after, before)
	}
}

func TestConnectionIsWaitedForUnlessTheCredentialsAreRejected(t *testing.T) {
	d := idle(t, serve(t, &scripted{}))
	d.Lock()
	d.use(nil, rejection(t, codes.Unauthenticated, "UNAUTHENTICATED"))
	d.Unlock()
	if _, _, err := d.Conn(t.Context()); Refusal(err).GetReason() != "UNAUTHENTICATED" {
		t.Errorf("%v", err)
	}
	d.Lock()
	d.use(nil, errors.New("down"))
	d.Unlock()
	found := make(chan error, 1)
	go func() {
		_, _, err := d.Conn(t.Context())
		found <- err
	}()
	opened, err := d.dial(0)
	if err != nil {
		t.Fatal(err)
	}
	d.connected(opened)
	if err := receive(t, "the connection", found); err != nil {
		t.Error(err)
	}
}

func TestDriverEndsWhenEverythingIsWithdrawn(t *testing.T) {
	d := idle(t, serve(t, &scripted{welcomes: true}))
	go d.run()
	connect := func() {
		opened, err := d.dial(0)
		if err != nil {
			t.Fatal(err)
		}
		d.connected(opened)
	}
	connect()
	p, now := d.Lock()
	p.Declare(nil, &tenurev1.Declaration{Open: &tenurev1.DeclaredSession{}}, now)
	d.Unlock()
	d.Close(timeout)
	select {
	case <-d.Done():
		t.Fatal("ended before a server has confirmed the withdrawal")
	default:
	}
	connect()
	receive(t, "the end", d.Done())
	if _, _, err := d.Conn(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if p, _ := d.Lock(); !p.IsEmpty() || d.closing == clock.Never {
		t.Error("not closed")
	}
	d.Unlock()
}
