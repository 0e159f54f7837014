package tenure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/internal/protocol"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func TestEndpointsAreURLsWithADefaultPort(t *testing.T) {
	_, endpoints, err := (&Options{
		Endpoints: []string{"http://a:1", " b:2", "c", "http://[::1]:7421/", "[::1]", "https://d:3", "https://e"},
	}).checked()
	var got []string
	for _, endpoint := range endpoints {
		got = append(got, endpoint.String())
	}
	want := []string{
		"http://a:1", "http://b:2", "http://c:7420", "http://[::1]:7421", "http://[::1]:7420", "https://d:3", "https://e:7420",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	for _, endpoint := range []string{
		"", "ftp://a", "https://", "http://", "http://a b", "http://a:x", "a:0", "a:99999", "https://a:-1", "a,b",
	} {
		isInvalid(t, "endpoints", &Options{Endpoints: []string{"http://a:1", endpoint}})
	}
	isInvalid(t, "endpoints", &Options{Endpoints: []string{}})
	for _, namespace := range []string{"No Such!", strings.Repeat("n", 64), "a\n"} {
		isInvalid(t, "namespace", &Options{Namespace: namespace})
	}
	isInvalid(t, "connect_timeout", &Options{ConnectTimeout: -1})
	isInvalid(t, "call_timeout", &Options{CallTimeout: -1})
}

func isInvalid(t *testing.T, field string, options *Options) {
	t.Helper()
	var invalid *InvalidError
	if _, err := Connect(options); !errors.As(err, &invalid) || invalid.Field != field {
		t.Errorf("%+v: %v", options, err)
	}
}

func TestOptionsAreReadFromTheEnvironment(t *testing.T) {
	t.Setenv("TENURE_ENDPOINTS", "a:1, b:2,")
	t.Setenv("TENURE_NAMESPACE", "billing")
	for _, variable := range []string{"CA_CERT", "CLIENT_CERT", "CLIENT_KEY", "TLS_SERVER_NAME", "TOKEN", "TOKEN_FILE"} {
		t.Setenv("TENURE_"+variable, "the "+variable)
	}
	options := FromEnv()
	if !slices.Equal(options.Endpoints, []string{"a:1", "b:2"}) || options.Namespace != "billing" ||
		options.CACert != "the CA_CERT" || options.ClientCert != "the CLIENT_CERT" || options.ClientKey != "the CLIENT_KEY" ||
		options.TLSServerName != "the TLS_SERVER_NAME" || options.Token != "the TOKEN" || options.TokenFile != "the TOKEN_FILE" {
		t.Errorf("%+v", options)
	}
	t.Setenv("TENURE_ENDPOINTS", " ")
	for _, variable := range []string{
		"NAMESPACE", "CA_CERT", "CLIENT_CERT", "CLIENT_KEY", "TLS_SERVER_NAME", "TOKEN", "TOKEN_FILE",
	} {
		t.Setenv("TENURE_"+variable, "")
	}
	checked, endpoints, err := FromEnv().checked()
	if err != nil || endpoints[0].String() != defaultEndpoint || checked.Namespace != "default" || checked.hasToken() {
		t.Errorf("%+v %v %v", checked, endpoints, err)
	}
}

func TestDefaultOwnerIsWithinBounds(t *testing.T) {
	owner := defaultOwner(strings.Repeat("ä", 200), "host")
	if len(owner) > longestOwner || !strings.HasPrefix(owner, "ää") {
		t.Errorf("%d bytes: %q", len(owner), owner)
	}
	if owner := defaultOwner("/usr/bin/a\nb", "host-1"); owner != "ab@host-1" {
		t.Errorf("%q", owner)
	}
	declared := SessionOptions{Owner: "ann"}.declared()
	if declared.Owner != "ann" || declared.Ttl.AsDuration() != 10*time.Second || declared.DisconnectGrace != nil {
		t.Errorf("%v", declared)
	}
}

func refusedWith(t *testing.T, code codes.Code, domain, reason string) error {
	t.Helper()
	answer, err := status.New(code, "no").WithDetails(&errdetails.ErrorInfo{
		Domain: domain, Reason: reason, Metadata: map[string]string{"session_id": "s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return failure(answer.Err())
}

func TestErrorsAreDecidedByTheReasonInTheDetails(t *testing.T) {
	var refused *RefusedError
	err := refusedWith(t, codes.NotFound, "tenure", "SESSION_NOT_FOUND")
	if !errors.Is(err, ErrRefused) || !errors.As(err, &refused) || err.Error() != "no" ||
		refused.Reason() != tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND ||
		refused.Refusal.Metadata["session_id"] != "s" || IsTransient(err) {
		t.Errorf("%+v", err)
	}
	err = refusedWith(t, codes.Unavailable, "tenure", "STORE_UNAVAILABLE")
	if !IsTransient(err) || errors.Is(err, ErrUnavailable) {
		t.Errorf("%+v", err)
	}
	err = refusedWith(t, codes.PermissionDenied, "proxy.example", "DRAINING")
	if !errors.As(err, &refused) || refused.Reason() != 0 || refused.Refusal.Code != int32(codes.PermissionDenied) {
		t.Errorf("%+v", err)
	}
	if err := refusedWith(t, codes.DeadlineExceeded, "tenure", "DEADLINE_EXCEEDED"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%+v", err)
	}
	for _, code := range []codes.Code{codes.Unavailable, codes.Unknown, codes.Canceled} {
		if err := failure(status.Error(code, "down")); !errors.Is(err, ErrUnavailable) || !IsTransient(err) {
			t.Errorf("%+v", err)
		}
	}
}

func TestLossIsDescribed(t *testing.T) {
	ended := &tenurev1.EndedState{Reason: tenurev1.EndReason_END_REASON_EVICTED}
	err := lostError(&protocol.Loss{Reason: protocol.Ended, State: ended})
	if !errors.Is(err, ErrLost) || err.Error() != "lost: evicted" {
		t.Errorf("%v", err)
	}
	ended.Operator, ended.Note = "anna", "host is gone"
	if err.Error() != "lost: evicted by anna (host is gone)" {
		t.Errorf("%v", err)
	}
	for _, reason := range []LostReason{LostUnrenewed, LostStalled, LostForgotten, LostInUse, LostReleased, LostClosed} {
		if text := (&LostError{Reason: reason}).Error(); text == "lost: " {
			t.Errorf("%s: %q", reason, text)
		}
	}
}

func TestAnotherDeclarationIsMadeAfterTemporaryRejectionsOnly(t *testing.T) {
	refused := func(reason string) error { return &RefusedError{&tenurev1.Refusal{Reason: reason}} }
	for _, test := range []struct {
		err     error
		isAgain bool
	}{
		{refused("STORE_UNAVAILABLE"), true}, {errDisconnected, true}, {refused("CLAIM_ENDED"), false},
		{refused("SESSION_ENDED"), false}, {errUnanswered, false}, {&LostError{Reason: LostForgotten}, false},
	} {
		if mayDeclareAgain(test.err) != test.isAgain {
			t.Errorf("%v", test.err)
		}
	}
}

func TestEndOfAClaimThatWaitedIsAnErrorWithTheReason(t *testing.T) {
	session := &protocol.Item{State: &tenurev1.State{Kind: &tenurev1.State_Open{Open: &tenurev1.OpenState{}}}}
	waiting := &tenurev1.State{Kind: &tenurev1.State_Waiting{Waiting: &tenurev1.WaitingState{}}}
	ended := func(reason tenurev1.EndReason) *protocol.Loss {
		return &protocol.Loss{Reason: protocol.Ended, State: &tenurev1.EndedState{Reason: reason}}
	}
	forgotten := &protocol.Loss{Reason: protocol.Forgotten}
	claim := &part{item: &protocol.Item{Session: session, State: waiting}}
	var refused *RefusedError
	claim.item.Loss = ended(tenurev1.EndReason_END_REASON_EVICTED)
	if err := claim.claimError(); !errors.As(err, &refused) || refused.Refusal.Metadata["end_reason"] != "evicted" ||
		refused.Reason() != tenurev1.ErrorReason_ERROR_REASON_CLAIM_ENDED {
		t.Errorf("%v", err)
	}
	claim.item.Loss = ended(tenurev1.EndReason_END_REASON_DISCONNECTED)
	if err := claim.claimError(); err != errDisconnected {
		t.Errorf("%v", err)
	}
	claim.item.Loss = forgotten
	if err := claim.claimError(); !errors.Is(err, ErrLost) {
		t.Errorf("%v", err)
	}
	// The server has withdrawn it before this client knew that it exists.
	claim.item.State = nil
	if err := claim.claimError(); err != errDisconnected {
		t.Errorf("%v", err)
	}
	session.Loss = forgotten
	if err := claim.claimError(); !errors.Is(err, ErrLost) {
		t.Errorf("%v", err)
	}
}

func TestWorkStopsBeforeTheDrainIsOver(t *testing.T) {
	now := clock.Moment(100 * time.Second)
	for drain, left := range map[time.Duration]time.Duration{10: 0, 100: 80, 1_000: 800, 10_000: 9_000, 60_000: 59_000} {
		if got := stopAt(drain*time.Millisecond, now); got != now.After(left*time.Millisecond) {
			t.Errorf("%d: %v", drain, got.Since(now))
		}
	}
}

func TestLingeringClaimIsNoHolder(t *testing.T) {
	lingering := &tenurev1.Claim{Token: 1, State: tenurev1.ClaimState_CLAIM_STATE_LINGERING}
	lock := &tenurev1.Lock{Holders: []*tenurev1.Claim{lingering}}
	if HolderOf(lock) != nil || HolderOf(nil) != nil {
		t.Errorf("%v", HolderOf(lock))
	}
	lock.Holders = append(lock.Holders, &tenurev1.Claim{Token: 2, State: tenurev1.ClaimState_CLAIM_STATE_HELD})
	if HolderOf(lock).GetToken() != 2 {
		t.Errorf("%v", HolderOf(lock))
	}
}

func TestLeaderFollowsFromEvents(t *testing.T) {
	const (
		granted, ended         = tenurev1.EventType_EVENT_TYPE_GRANTED, tenurev1.EventType_EVENT_TYPE_ENDED
		lingering, transferred = tenurev1.EventType_EVENT_TYPE_LINGERING, tenurev1.EventType_EVENT_TYPE_TRANSFERRED
		configured, queued     = tenurev1.EventType_EVENT_TYPE_CONFIGURED, tenurev1.EventType_EVENT_TYPE_QUEUED
	)
	first, second, waiter := &tenurev1.Claim{Token: 3}, &tenurev1.Claim{Token: 7}, &tenurev1.Claim{}
	for index, test := range []struct {
		events []*tenurev1.Event
		want   *tenurev1.Claim
	}{
		{[]*tenurev1.Event{{Type: granted, Claim: first}}, first},
		{[]*tenurev1.Event{{Type: granted, Claim: first}, {Type: ended, Claim: waiter}}, first},
		{[]*tenurev1.Event{{Type: granted, Claim: first}, {Type: ended, Claim: first}}, nil},
		{[]*tenurev1.Event{{Type: granted, Claim: first}, {Type: lingering, Claim: first}}, nil},
		{[]*tenurev1.Event{{Type: granted, Claim: first}, {Type: transferred, Claim: second, Previous: first}}, second},
		{[]*tenurev1.Event{{Type: configured}, {Type: queued, Claim: waiter}}, nil},
	} {
		if leader := leaderAfter(test.events, nil); leader != test.want {
			t.Errorf("%d: %+v", index, leader)
		}
	}
}

func TestServerThatHangsIsNotWaitedFor(t *testing.T) {
	// It accepts connections, and never replies.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	client, err := Connect(&Options{Endpoints: []string{listener.Addr().String()}, CallTimeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := client.Lock("job", nil).Acquire(ctx); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if err := client.Close(ctx); err != nil {
		t.Error(fmt.Errorf("nothing was declared: %w", err))
	}
}
