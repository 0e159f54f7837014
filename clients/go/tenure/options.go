package tenure

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	// Where a server listens that was started without arguments.
	defaultEndpoint = "http://127.0.0.1:7420"
	// That of http.
	defaultPort = "80"

	defaultNamespace      = "default"
	defaultConnectTimeout = 500 * time.Millisecond
	defaultCallTimeout    = 5 * time.Second
)

// Options tell how to reach the service. The zero value and nil are the defaults.
type Options struct {
	// Endpoints are the servers, as URLs (http:// may be left out). They are equals: the client uses one at a time and goes to
	// the next when that fails. Default: http://127.0.0.1:7420.
	Endpoints []string
	// Namespace of all that the client does: 1 to 63 of a-z, 0-9 and '-'. Default: "default".
	Namespace string
	// ConnectTimeout is how long connecting to one server may take. Servers that hang are not waited for: the next is tried
	// beside them after a quarter of this. Default: 500 ms.
	ConnectTimeout time.Duration
	// CallTimeout is how long a call may take, with all its retries; a call that waits for a lock may take this longer than its
	// wait. A context that ends earlier ends the call earlier. Default: 5 s.
	CallTimeout time.Duration
	// Logger is told of connections, and of sessions that are at risk or lost. Default: nothing is logged.
	Logger *slog.Logger
}

// FromEnv is the defaults with TENURE_ENDPOINTS (separated by commas) and TENURE_NAMESPACE, where they are set and not empty.
func FromEnv() *Options {
	options := &Options{Namespace: os.Getenv("TENURE_NAMESPACE")}
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

// The endpoints as HOST:PORT.
func addresses(endpoints []string) ([]string, error) {
	var addresses []string
	for _, endpoint := range endpoints {
		address, problem := address(strings.TrimSpace(endpoint))
		if problem != "" {
			return nil, &InvalidError{Field: "endpoints", Problem: fmt.Sprintf("%q %s", endpoint, problem)}
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}

func address(endpoint string) (address, problem string) {
	if !strings.Contains(endpoint, "://") {
		endpoint = "http://" + endpoint
	}
	parsed, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", "is no URL: " + err.Error()
	case parsed.Scheme == "https":
		return "", "asks for TLS, which is not supported yet"
	case parsed.Scheme != "http" || parsed.Hostname() == "" || strings.ContainsAny(parsed.Host, " ,"):
		return "", "is not http://HOST:PORT"
	}
	port := parsed.Port()
	if port == "" {
		port = defaultPort
	}
	return net.JoinHostPort(parsed.Hostname(), port), ""
}
