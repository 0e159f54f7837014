package tenure

import (
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/link"
)

const (
	// Where a server listens that was started without arguments.
	defaultEndpoint = "http://127.0.0.1:7420"

	defaultNamespace      = "default"
	defaultConnectTimeout = 500 * time.Millisecond
	defaultCallTimeout    = 5 * time.Second
)

// Options tell how to reach the service. The zero value and nil are the defaults.
type Options struct {
	// Endpoints are the servers, as URLs: https:// for those that speak TLS, else http://, which may be left out. They are equals:
	// the client uses one at a time and goes to the next when that fails. Default: http://127.0.0.1:7420.
	Endpoints []string
	// Namespace of all that the client does: 1 to 63 of a-z, 0-9 and '-'. Default: "default".
	Namespace string
	// CACert is a PEM file of those who sign the certificates of servers; at least one endpoint must be at https://. It is read for
	// each connection, as ClientCert and ClientKey are, so that they may be replaced. Default: those whom the system trusts.
	CACert string
	// ClientCert is a PEM file of this client's certificate, followed by those between it and its authority, if there are any.
	// It needs ClientKey, and an endpoint at https://. Default: none.
	ClientCert string
	// ClientKey is a PEM file of the private key of ClientCert, and needs that. Default: none.
	ClientKey string
	// TLSServerName is the name that the servers' certificates must have. Default: the endpoint's host.
	TLSServerName string
	// Token says who this is: printable ASCII; spaces around it do not count. It is refused with endpoints at http://, except on this
	// machine. Default: none.
	Token Secret
	// TokenFile is the file where the token stands; set one of the two. It is read for each stream and each call, so that the token
	// may be replaced. Default: none.
	TokenFile string
	// ConnectTimeout is how long connecting to one server may take. Servers that hang are not waited for: the next is tried
	// beside them after a quarter of this. Default: 500 ms.
	ConnectTimeout time.Duration
	// CallTimeout is how long a call may take, with all its retries; a call that waits for a lock may take this longer than its
	// wait. A context that ends earlier ends the call earlier. Default: 5 s.
	CallTimeout time.Duration
	// Logger is told of connections, and of sessions that are at risk or lost. Default: nothing is logged.
	Logger *slog.Logger
}

// FromEnv is the defaults with TENURE_ENDPOINTS (separated by commas), TENURE_NAMESPACE, TENURE_CA_CERT, TENURE_CLIENT_CERT,
// TENURE_CLIENT_KEY, TENURE_TLS_SERVER_NAME, TENURE_TOKEN and TENURE_TOKEN_FILE, where they are set and not empty.
func FromEnv() *Options {
	options := &Options{
		Namespace:     os.Getenv("TENURE_NAMESPACE"),
		CACert:        os.Getenv("TENURE_CA_CERT"),
		ClientCert:    os.Getenv("TENURE_CLIENT_CERT"),
		ClientKey:     os.Getenv("TENURE_CLIENT_KEY"),
		TLSServerName: os.Getenv("TENURE_TLS_SERVER_NAME"),
		Token:         Secret(os.Getenv("TENURE_TOKEN")),
		TokenFile:     os.Getenv("TENURE_TOKEN_FILE"),
	}
	for endpoint := range strings.SplitSeq(os.Getenv("TENURE_ENDPOINTS"), ",") {
		if endpoint = strings.TrimSpace(endpoint); endpoint != "" {
			options.Endpoints = append(options.Endpoints, endpoint)
		}
	}
	return options
}

// The options with the defaults filled in.
func (o *Options) filled() (Options, error) {
	var options Options
	if o != nil {
		options = *o
	}
	if options.Endpoints == nil {
		options.Endpoints = []string{defaultEndpoint}
	}
	if options.Namespace == "" {
		options.Namespace = defaultNamespace
	}
	if options.ConnectTimeout == 0 {
		options.ConnectTimeout = defaultConnectTimeout
	}
	if options.CallTimeout == 0 {
		options.CallTimeout = defaultCallTimeout
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case len(options.Endpoints) == 0:
		return options, &InvalidError{Field: "endpoints", Problem: "there are none"}
	case options.ConnectTimeout < 0:
		return options, &InvalidError{Field: "connect_timeout", Problem: "it is less than zero"}
	case options.CallTimeout < 0:
		return options, &InvalidError{Field: "call_timeout", Problem: "it is less than zero"}
	}
	return options, nil
}

func (o Options) security() link.Security {
	return link.Security{
		CACert: o.CACert, ClientCert: o.ClientCert, ClientKey: o.ClientKey, TLSServerName: o.TLSServerName,
		Credentials: link.Credentials{Token: string(o.Token), TokenFile: o.TokenFile},
	}
}
