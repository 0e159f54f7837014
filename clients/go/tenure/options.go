package tenure

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	defaultEndpoint       = "http://127.0.0.1:7420"
	defaultPort           = "7420"
	defaultConnectTimeout = 500 * time.Millisecond
	defaultCallTimeout    = 5 * time.Second
	defaultTTL            = 10 * time.Second
	// The contract's bound of an owner label, in bytes.
	longestOwner = 255
)

// Options are how to reach the service. The zero value and nil are the defaults.
type Options struct {
	// Endpoints are the servers, as URLs: http:// may be omitted, and so may the port 7420. They are equals: the client
	// uses one at a time and fails over to the next. Default: http://127.0.0.1:7420.
	Endpoints []string
	// Namespace of the client: 1 to 63 of a-z, 0-9 and '-'. Default: "default".
	Namespace string
	// CACert is a PEM file with the CA of the servers' certificates; needs an endpoint at https://. It is read for each
	// connection, as the other files are, so that they may be replaced. Default: the CAs that the system trusts.
	CACert string
	// ClientCert is a PEM file with this client's certificate, together with ClientKey; needs an endpoint at https://.
	// Default: none.
	ClientCert string
	// ClientKey is a PEM file with the private key of that certificate.
	ClientKey string
	// TLSServerName is the name that the servers' certificates must have. Default: the endpoint's host.
	TLSServerName string
	// Token of this client: printable ASCII. It is rejected with endpoints at http://, except on this machine. Default:
	// none.
	Token Secret
	// TokenFile is the file of that token; set one of the two. It is read for each stream and each call, so that the
	// token may be replaced. Default: none.
	TokenFile string
	// ConnectTimeout is how long connecting to one server may take. After a quarter of this, the next server is tried
	// in parallel. Default: 500 ms.
	ConnectTimeout time.Duration
	// CallTimeout is how long a call may take, including retries at other servers. A call that waits for a lock may
	// take this longer than its wait. Default: 5 s.
	CallTimeout time.Duration
	// Logger logs connections, and the loss of leadership and memberships. Default: nothing is logged.
	Logger *slog.Logger
}

// FromEnv is the options of the environment: TENURE_ENDPOINTS (separated by commas), TENURE_NAMESPACE, TENURE_CA_CERT,
// TENURE_CLIENT_CERT, TENURE_CLIENT_KEY, TENURE_TLS_SERVER_NAME, TENURE_TOKEN and TENURE_TOKEN_FILE, where they are set
// and not empty.
func FromEnv() *Options {
	options := &Options{
		Namespace: os.Getenv("TENURE_NAMESPACE"), CACert: os.Getenv("TENURE_CA_CERT"),
		ClientCert: os.Getenv("TENURE_CLIENT_CERT"), ClientKey: os.Getenv("TENURE_CLIENT_KEY"),
		TLSServerName: os.Getenv("TENURE_TLS_SERVER_NAME"), Token: Secret(os.Getenv("TENURE_TOKEN")),
		TokenFile: os.Getenv("TENURE_TOKEN_FILE"),
	}
	for endpoint := range strings.SplitSeq(os.Getenv("TENURE_ENDPOINTS"), ",") {
		if endpoint = strings.TrimSpace(endpoint); endpoint != "" {
			options.Endpoints = append(options.Endpoints, endpoint)
		}
	}
	return options
}

var namespaces = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)

// The options with the defaults, and the endpoints.
func (o *Options) checked() (Options, []*url.URL, error) {
	var options Options
	if o != nil {
		options = *o
	}
	if options.Endpoints == nil {
		options.Endpoints = []string{defaultEndpoint}
	}
	options.Namespace = cmp.Or(options.Namespace, "default")
	options.ConnectTimeout = cmp.Or(options.ConnectTimeout, defaultConnectTimeout)
	options.CallTimeout = cmp.Or(options.CallTimeout, defaultCallTimeout)
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	var endpoints []*url.URL
	for _, text := range options.Endpoints {
		endpoint := parseEndpoint(strings.TrimSpace(text))
		if endpoint == nil {
			problem := fmt.Sprintf("%q is not http://HOST:PORT or https://HOST:PORT, with a port from 1 to 65535", text)
			return options, nil, &InvalidError{"endpoints", problem}
		}
		endpoints = append(endpoints, endpoint)
	}
	err := check(
		rule{len(endpoints) == 0, "endpoints", "there are none"},
		// If the server rejected the stream for it, no call would report that well.
		rule{!namespaces.MatchString(options.Namespace), "namespace", "it is not 1 to 63 of a-z, 0-9 and '-'"},
		rule{options.ConnectTimeout < 0, "connect_timeout", "it is less than zero"},
		rule{options.CallTimeout < 0, "call_timeout", "it is less than zero"},
	)
	return options, endpoints, cmp.Or(err, options.checkSecurity(endpoints))
}

// The URL of an endpoint, with a port; nil if it is none.
func parseEndpoint(text string) *url.URL {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil
	}
	port := cmp.Or(parsed.Port(), defaultPort)
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return nil
	}
	if parsed.Hostname() == "" || strings.ContainsAny(parsed.Host, " ,") {
		return nil
	}
	return &url.URL{Scheme: parsed.Scheme, Host: net.JoinHostPort(parsed.Hostname(), port)}
}

// SessionOptions are how to open a session. The zero value and nil are the defaults. The server checks the bounds.
type SessionOptions struct {
	// TTL is how long the session outlives this program: 500 ms to 24 h unless the server is configured otherwise.
	// Default: 10 s.
	TTL time.Duration
	// DisconnectGrace is how long the session outlives this program's connection: 100 ms to the TTL. With 300 ms, the
	// lock of a crashed program is granted to the next one within 350 ms, however long the TTL is. The client applies
	// the same rule to itself: when no renewal was answered for the grace, the session is lost. So choose it longer
	// than it takes to reach another server, or, with only one server, to restart it. Default: none, the TTL alone
	// applies.
	DisconnectGrace time.Duration
	// Owner is a label for people: a host, a pod, a job. At most 255 bytes. Default: the name of the running program
	// and the host, as in "worker@host-1".
	Owner string
	// Metadata are free labels. At most 4096 bytes in all, keys and values together. Default: none.
	Metadata map[string]string
	// ID of the session: 1 to 128 bytes. While another program has a session of this id, opening it is refused
	// (SESSION_IN_USE). Default: a fresh one.
	ID string
	// StallAfter renews the session only while the last Session.Tick is less than this ago, counted from the opening
	// until the first. Without ticks the session is lost, with LostStalled. More than zero. Default: renewed while the
	// client runs.
	StallAfter time.Duration
}

func (o SessionOptions) declared() *tenurev1.DeclaredSession {
	return &tenurev1.DeclaredSession{
		SessionId: o.ID, Ttl: durationpb.New(cmp.Or(o.TTL, defaultTTL)), DisconnectGrace: optionalDuration(o.DisconnectGrace),
		Owner: cmp.Or(o.Owner, ownerOfProgram), Metadata: maps.Clone(o.Metadata),
	}
}

var ownerOfProgram = func() string {
	host, _ := os.Hostname()
	return defaultOwner(os.Args[0], host)
}()

// The file name of the program and the host, as far as the contract allows.
func defaultOwner(program, host string) string {
	owner := strings.Map(func(letter rune) rune {
		if unicode.IsControl(letter) {
			return -1
		}
		return letter
	}, filepath.Base(program)+"@"+host)
	return strings.ToValidUTF8(owner[:min(len(owner), longestOwner)], "")
}

// Unset if it is zero: then the contract's default applies.
func optionalDuration(duration time.Duration) *durationpb.Duration {
	if duration == 0 {
		return nil
	}
	return durationpb.New(duration)
}
