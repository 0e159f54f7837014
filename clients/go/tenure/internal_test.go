package tenure

import (
	"context"
	"errors"
	"slices"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-lock/tenure/clients/go/internal/link"
)

func TestEndpointsAreURLs(t *testing.T) {
	got, err := endpointsOf([]string{"http://a:1", " b:2", "c", "http://[::1]:7420/", "https://d:3", "https://e"})
	want := []link.Endpoint{
		{Address: "a:1"}, {Address: "b:2"}, {Address: "c:80"}, {Address: "[::1]:7420"},
		{Address: "d:3", IsTLS: true}, {Address: "e:443", IsTLS: true},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	for _, endpoint := range []string{"", "ftp://a", "https://", "http://", "http://a b", "http://a:x"} {
		var invalid *InvalidError
		if _, err := endpointsOf([]string{endpoint}); !errors.As(err, &invalid) || invalid.Field != "endpoints" {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
	if _, err := Connect(&Options{Endpoints: []string{}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v", err)
	}
}

func TestTheEnvironmentTellsWhereTheServiceIs(t *testing.T) {
	t.Setenv("TENURE_ENDPOINTS", "a:1, b:2,")
	t.Setenv("TENURE_NAMESPACE", "billing")
	options := FromEnv()
	if !slices.Equal(options.Endpoints, []string{"a:1", "b:2"}) || options.Namespace != "billing" {
		t.Errorf("%+v", options)
	}
	t.Setenv("TENURE_ENDPOINTS", " ")
	t.Setenv("TENURE_NAMESPACE", "")
	filled, err := FromEnv().filled()
	if err != nil || !slices.Equal(filled.Endpoints, []string{defaultEndpoint}) || filled.Namespace != "default" {
		t.Errorf("%+v %v", filled, err)
	}
}

func TestTheEnvironmentTellsWhoThisIs(t *testing.T) {
	for _, variable := range []string{"CA_CERT", "CLIENT_CERT", "CLIENT_KEY", "TLS_SERVER_NAME", "TOKEN", "TOKEN_FILE"} {
		t.Setenv("TENURE_"+variable, "")
	}
	if security := FromEnv().security(); security != (link.Security{}) {
		t.Errorf("what is empty is not set: %+v", security)
	}
	for _, variable := range []string{"CA_CERT", "CLIENT_CERT", "CLIENT_KEY", "TLS_SERVER_NAME", "TOKEN", "TOKEN_FILE"} {
		t.Setenv("TENURE_"+variable, "the "+variable)
	}
	if security := FromEnv().security(); security != (link.Security{
		CACert: "the CA_CERT", ClientCert: "the CLIENT_CERT", ClientKey: "the CLIENT_KEY", TLSServerName: "the TLS_SERVER_NAME",
		Credentials: link.Credentials{Token: "the TOKEN", TokenFile: "the TOKEN_FILE"},
	}) {
		t.Errorf("%+v", security)
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
	return told(link.Failure(answer.Err()))
}

func TestErrorsAreDecidedByTheReasonInTheDetails(t *testing.T) {
	var refused *RefusedError
	err := refusedWith(t, codes.NotFound, "tenure", "SESSION_NOT_FOUND")
	if !errors.Is(err, ErrRefused) || !errors.As(err, &refused) || refused.Reason != ReasonSessionNotFound ||
		refused.Metadata["session_id"] != "s" || IsTransient(err) {
		t.Errorf("%+v", err)
	}
	if err := refusedWith(t, codes.Unavailable, "tenure", "STORE_UNAVAILABLE"); !IsTransient(err) || errors.Is(err, ErrUnavailable) {
		t.Errorf("%+v", err)
	}
	err = refusedWith(t, codes.PermissionDenied, "proxy.example", "DRAINING")
	if !errors.As(err, &refused) || refused.Reason != "PermissionDenied" {
		t.Errorf("%+v", err)
	}
	if err := refusedWith(t, codes.DeadlineExceeded, "tenure", "DEADLINE_EXCEEDED"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%+v", err)
	}
	if err := told(link.Failure(status.Error(codes.Unavailable, "down"))); !errors.Is(err, ErrUnavailable) || !IsTransient(err) {
		t.Errorf("%+v", err)
	}
}

func TestWhoLeadsIsToldByEvents(t *testing.T) {
	first, second := &Claim{Token: 3, Owner: "first"}, &Claim{Token: 7, Owner: "second"}
	waiter := &Claim{Owner: "waiter"}
	for _, told := range []struct {
		events []Event
		want   *Leader
	}{
		{[]Event{{Kind: EventGranted, Claim: first}}, leaderOf(first)},
		{[]Event{{Kind: EventGranted, Claim: first}, {Kind: EventEnded, Claim: waiter}}, leaderOf(first)},
		{[]Event{{Kind: EventGranted, Claim: first}, {Kind: EventEnded, Claim: first, Vacant: true}}, nil},
		{[]Event{{Kind: EventGranted, Claim: first}, {Kind: EventLingering, Claim: first, Vacant: true}}, nil},
		{[]Event{{Kind: EventGranted, Claim: first}, {Kind: EventTransferred, Claim: second, Previous: first}}, leaderOf(second)},
		{[]Event{{Kind: EventConfigured}, {Kind: EventQueued, Claim: waiter}}, nil},
	} {
		if leader := leaderAfter(told.events, nil); !leader.equals(told.want) {
			t.Errorf("%+v: %+v", told.events, leader)
		}
	}
}

func TestACallWhoseContextIsOverAsksNothing(t *testing.T) {
	client, err := Connect(&Options{Endpoints: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why")
	cancel(why)
	if _, err := client.OpenSession(ctx, nil); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if _, err := client.Lock("job", nil).Acquire(ctx); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if err := client.Close(context.Background()); err != nil {
		t.Errorf("there is nothing to close: %v", err)
	}
}
