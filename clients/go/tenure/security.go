package tenure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// How long it may take to read the alert that was received before the connection broke.
const alertTimeout = 100 * time.Millisecond

// Secret is a text that is not shown: neither printed, nor logged, nor encoded as JSON. string(secret) is the text.
type Secret string

// Format shows that there is one, for all verbs.
func (s Secret) Format(state fmt.State, _ rune) {
	if s != "" {
		_, _ = fmt.Fprint(state, "***")
	}
}

// MarshalText shows that there is one.
func (s Secret) MarshalText() ([]byte, error) { return fmt.Append(nil, s), nil }

// Checks the credentials before there is a connection.
func (o Options) checkSecurity(endpoints []*url.URL) error {
	isHTTPS := func(endpoint *url.URL) bool { return endpoint.Scheme == "https" }
	isExposed := func(endpoint *url.URL) bool { return !isHTTPS(endpoint) && !isThisMachine(endpoint) }
	hasTLS := slices.ContainsFunc(endpoints, isHTTPS)
	err := check(
		rule{o.ClientCert != "" && o.ClientKey == "", "client_cert", "it is set, but client_key is not"},
		rule{o.ClientKey != "" && o.ClientCert == "", "client_key", "it is set, but client_cert is not"},
		rule{o.CACert != "" && !hasTLS, "ca_cert", "it is set, but no endpoint is https://"},
		rule{o.ClientCert != "" && !hasTLS, "client_cert", "it is set, but no endpoint is https://"},
		rule{o.Token != "" && o.TokenFile != "", "token", "token_file is set as well: set one of them"},
		rule{
			o.hasToken() && slices.ContainsFunc(endpoints, isExposed),
			o.tokenField(), "it would go to an endpoint in the clear: use https://",
		},
	)
	if err == nil {
		_, err = o.tls()
	}
	if err == nil && o.hasToken() {
		_, err = o.token()
	}
	return err
}

func isThisMachine(endpoint *url.URL) bool {
	address, err := netip.ParseAddr(endpoint.Hostname())
	return endpoint.Hostname() == "localhost" || err == nil && address.IsLoopback()
}

// How connections to this endpoint are secured.
func (o Options) dialOptions(endpoint *url.URL) []grpc.DialOption {
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if endpoint.Scheme == "https" {
		secured := credentials.NewTLS(&tls.Config{ServerName: o.TLSServerName})
		options[0] = grpc.WithTransportCredentials(tlsCredentials{secured, o})
	}
	if o.hasToken() {
		options = append(options, grpc.WithPerRPCCredentials(tokenCredentials{o}))
	}
	return options
}

// TLS whose files are read for each connection, so that they may be replaced.
type tlsCredentials struct {
	credentials.TransportCredentials
	options Options
}

func (c tlsCredentials) ClientHandshake(
	ctx context.Context, authority string, conn net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	config, err := c.options.tls()
	if err != nil {
		return nil, nil, err
	}
	secured, info, err := credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
	return alertConn{secured}, info, err
}

// Clone is the credentials themselves, which do not change.
func (c tlsCredentials) Clone() credentials.TransportCredentials { return c }

// A connection whose failure to write is explained by an alert, if there is one: a server checks a client's certificate
// only when the client has finished its handshake and is writing already.
type alertConn struct{ net.Conn }

func (c alertConn) Write(bytes []byte) (int, error) {
	count, err := c.Conn.Write(bytes)
	if err != nil {
		_ = c.SetReadDeadline(time.Now().Add(alertTimeout))
		_, alert := c.Read(make([]byte, 1))
		return count, errors.Join(err, alert)
	}
	return count, nil
}

func (o Options) tls() (*tls.Config, error) {
	config := &tls.Config{ServerName: o.TLSServerName}
	if o.CACert != "" {
		pem, err := os.ReadFile(o.CACert)
		if err != nil {
			return nil, &InvalidError{"ca_cert", err.Error()}
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &InvalidError{"ca_cert", o.CACert + ": it has no certificate"}
		}
	}
	if o.ClientCert != "" {
		certificate, err := tls.LoadX509KeyPair(o.ClientCert, o.ClientKey)
		if err != nil {
			return nil, &InvalidError{"client_cert", fmt.Sprintf("with client_key %s: %v", o.ClientKey, err)}
		}
		// Sent also to a server that asks for those of other authorities: it reports what is wrong with it.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
	}
	return config, nil
}

func (o Options) hasToken() bool { return o.Token != "" || o.TokenFile != "" }

// The option that has the token.
func (o Options) tokenField() string {
	if o.TokenFile != "" {
		return "token_file"
	}
	return "token"
}

func (o Options) token() (string, error) {
	token := string(o.Token)
	if o.TokenFile != "" {
		text, err := os.ReadFile(o.TokenFile)
		if err != nil {
			return "", &InvalidError{"token_file", err.Error()}
		}
		token = string(text)
	}
	token = strings.TrimSpace(token)
	isForbidden := func(letter rune) bool { return letter < ' ' || letter > '~' }
	return token, check(
		rule{token == "", o.tokenField(), "the token is empty"},
		rule{strings.ContainsFunc(token, isForbidden), o.tokenField(), "the token has letters that no header may have"},
	)
}

// The token, whose file is read for each stream and each call.
type tokenCredentials struct{ options Options }

// GetRequestMetadata adds the token to a call.
func (c tokenCredentials) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token, err := c.options.token()
	if err != nil {
		// Worth another attempt: the file may be about to be replaced.
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity is not left to gRPC, which knows no exception for this machine: checkSecurity rejects a
// token in the clear.
func (c tokenCredentials) RequireTransportSecurity() bool { return false }
