package transport

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// The next endpoint is tried in parallel when one has not answered for this part of the connect timeout ...
	timeoutDivisor = 4
	// ... or of the shortest time for which a session is valid, if that is less ...
	validityDivisor = 12
	// ... but not earlier than this.
	shortestStagger = 10 * time.Millisecond
	// The largest accepted reply: a page of 1000 locks with 100 waiters each.
	largestReply = 64 << 20
)

// Probes of a connection, by which a broken one is detected even without a session: as often as gRPC allows.
var probes = keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second, PermitWithoutStream: true}

// An open stream to one server.
type stream struct {
	endpoint int
	epoch    uint64
	// The connection, which is also used by plain calls.
	conn     *grpc.ClientConn
	messages grpc.BidiStreamingClient[tenurev1.ConnectRequest, tenurev1.ConnectResponse]
	cancel   context.CancelFunc
	// Done when plain calls are to go to another server.
	left  context.Context
	leave context.CancelFunc
	// Has an element if there is something to send.
	kicked chan struct{}
}

func (s *stream) close() {
	s.cancel()
	_ = s.conn.Close()
}

// A new connection to an endpoint: that of an earlier stream may be broken without a sign of it.
func (d *Driver) newConn(endpoint *url.URL) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+endpoint.Host, append(d.secure(endpoint),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
		grpc.WithKeepaliveParams(probes),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: d.connectTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestReply)),
	)...)
}

// Tries each endpoint once, beginning with this one: the next one when one fails or takes long. Returns the first
// stream that is opened. The error is that of the last endpoint that failed, unless one rejected the credentials.
func (d *Driver) dial(first int) (opened *stream, err error) {
	p, _ := d.Lock()
	// The endpoint of the current stream comes last; while that stream is still open, it is not tried, unless there is
	// no other.
	others := len(d.endpoints)
	if d.stream != nil && others > 1 {
		others--
	}
	stagger := max(min(d.connectTimeout/timeoutDivisor, p.ShortestValidity()/validityDivisor), shortestStagger)
	d.Unlock()
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	streams, failures := make(chan *stream), make(chan error, others)
	for begun, failed := 0, 0; failed < others; {
		var next <-chan time.Time
		if begun < others {
			go d.open(ctx, (first+begun)%len(d.endpoints), streams, failures)
			begun++
			next = time.After(stagger)
		}
		select {
		case opened := <-streams:
			return opened, nil
		case failure := <-failures:
			failed++
			// The user can fix rejected credentials; the other servers may be unreachable only temporarily.
			if !isUnauthenticated(err) {
				err = failure
			}
		case <-next:
		}
	}
	return nil, err
}

// Opens a stream, unless another is opened before.
func (d *Driver) open(dialling context.Context, endpoint int, streams chan<- *stream, failures chan<- error) {
	// The stream outlives the dialling.
	ctx, cancel := context.WithCancel(context.Background())
	opened := &stream{endpoint: endpoint, kicked: make(chan struct{}, 1), cancel: cancel}
	opened.left, opened.leave = context.WithCancel(ctx)
	limit := time.AfterFunc(d.connectTimeout, cancel)
	unlink := context.AfterFunc(dialling, cancel)
	conn, err := d.newConn(d.endpoints[endpoint])
	if err != nil {
		cancel()
		failures <- err
		return
	}
	opened.conn = conn
	messages, err := tenurev1.NewClientServiceClient(conn).Connect(ctx)
	opened.messages = messages
	if err == nil {
		// A frozen server still accepts connections; only its reply proves that it runs.
		if header, failure := messages.Header(); header == nil || failure != nil {
			_, err = messages.Recv()
		}
	}
	isInTime := limit.Stop()
	if err == nil && isInTime && unlink() {
		select {
		case streams <- opened:
			return
		case <-dialling.Done():
		}
	}
	opened.close()
	if !isInTime {
		err = fmt.Errorf("no answer within %v", d.connectTimeout)
	}
	if !isUnauthenticated(err) {
		err = fmt.Errorf("%v: %s", d.endpoints[endpoint], status.Convert(err).Message())
	}
	failures <- err
}

// Refusal is the rejection of a call; nil if no server replied in time. Without details of the service itself, it has
// neither a reason nor metadata.
func Refusal(err error) *tenurev1.Refusal {
	answer := status.Convert(err)
	refusal := &tenurev1.Refusal{Code: int32(answer.Code()), Message: answer.Message()}
	for _, detail := range answer.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.Domain == "tenure" {
			refusal.Reason, refusal.Metadata = info.Reason, info.Metadata
		}
	}
	switch answer.Code() {
	// A passed deadline is no rejection, even if the server reports it.
	case codes.DeadlineExceeded:
		return nil
	// A broken transport surfaces as unavailable or unknown, a cancelled call as cancelled.
	case codes.Unavailable, codes.Canceled, codes.Unknown:
		if refusal.Reason == "" {
			return nil
		}
	}
	return refusal
}

func isUnauthenticated(err error) bool { return Refusal(err).GetReason() == "UNAUTHENTICATED" }
