package tenure_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// A server with TLS, and the authority that has signed its certificate.
type securedServer struct {
	*server
	authority *authority
}

// With further arguments.
func startSecuredServer(t *testing.T, authority *authority, arguments ...string) securedServer {
	t.Helper()
	cert, key := authority.certify("server", "localhost", "server.example")
	return securedServer{
		server:    startServer(t, append([]string{"--tls-cert", cert, "--tls-key", key}, arguments...)...),
		authority: authority,
	}
}

// Options for a client that knows the authority.
func (s securedServer) options() tenure.Options {
	_, port, _ := net.SplitHostPort(s.Address)
	return tenure.Options{Endpoints: []string{"https://localhost:" + port}, CACert: s.authority.ca, CallTimeout: patience}
}

// With a certificate for these names.
func (s securedServer) certified(file string, names ...string) tenure.Options {
	options := s.options()
	options.ClientCert, options.ClientKey = s.authority.certify(file, names...)
	return options
}

// Acquires a lock, reads it by a plain call, and releases it.
func use(ctx context.Context, client *tenure.Client) error {
	guard, err := client.Lock("job", nil).Acquire(ctx)
	if err != nil {
		return err
	}
	if _, err := client.GetLock(ctx, &tenurev1.GetLockRequest{Name: "job"}); err != nil {
		return err
	}
	return guard.Release(ctx)
}

func refusedByRule(err error, rule string) bool {
	var refused *tenure.RefusedError
	return errors.As(err, &refused) && refused.Reason() == tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED &&
		refused.Refusal.Metadata["rule"] == rule
}

// Both are refused long before the call's deadline.
func isRefusedAtOnce(t *testing.T, client *tenure.Client, rule string) {
	t.Helper()
	ctx, begun := patiently(t), time.Now()
	_, opened := client.OpenSession(ctx, nil)
	_, read := client.GetLock(ctx, &tenurev1.GetLockRequest{Name: "job"})
	if !refusedByRule(opened, rule) || !refusedByRule(read, rule) {
		t.Errorf("not %s: %v, %v", rule, opened, read)
	}
	if took := time.Since(begun); took > patience/2 {
		t.Errorf("refused after %v", took)
	}
}

// A token, and its line in the server's file.
func newToken(name string) (token, line string) { return newTokenOf(name, name) }

// newTokenOf is one of several tokens of a name, as there are when they are replaced.
func newTokenOf(name, secret string) (token, line string) {
	token = "tenure_" + secret
	return token, fmt.Sprintf("%s sha256:%x\n", name, sha256.Sum256([]byte(token)))
}

func write(file, text string) { must(0, os.WriteFile(file, []byte(text), 0o600)) }

func TestClientIsAuthenticatedByItsCertificate(t *testing.T) {
	authority, ctx := newAuthority(t, "ours"), patiently(t)
	secured := startSecuredServer(t, authority, "--tls-client-ca", authority.ca)
	must(0, use(ctx, connectWith(t, secured.certified("uri", "spiffe://server/worker"))))
	must(0, use(ctx, connectWith(t, secured.certified("host", "worker.example"))))

	isRefusedAtOnce(t, connectWith(t, secured.options()), "credentials-required")
	isRefusedAtOnce(t, connectWith(t, secured.certified("nobody")), "certificate-name")
	both := secured.certified("both", "worker.example")
	both.Token = "anything"
	isRefusedAtOnce(t, connectWith(t, both), "known-token")
}

func TestProblemsWithCertificatesAreReported(t *testing.T) {
	authority, other := newAuthority(t, "ours"), newAuthority(t, "another")
	secured := startSecuredServer(t, authority, "--tls-client-ca", authority.ca)
	elsewhere, byAddress, clear := secured.options(), secured.options(), secured.options()
	elsewhere.TLSServerName = "elsewhere.example"
	byAddress.Endpoints = []string{"https://" + secured.Address}
	clear.Endpoints, clear.CACert = []string{secured.Address}, ""
	unknown, foreign := secured.options(), secured.options()
	unknown.CACert = other.ca
	foreign.ClientCert, foreign.ClientKey = other.certify("client", "worker.example")
	for _, test := range []struct {
		options tenure.Options
		problem string
	}{
		{unknown, "unknown authority"},
		{elsewhere, "not elsewhere.example"},
		{byAddress, "any IP SANs"},
		{foreign, "unknown certificate authority"},
		// The server replies that it expects TLS; gRPC shows that as a connection that failed, or as one that drains.
		{clear, "http://" + secured.Address + ": "},
	} {
		t.Run(test.problem, func(t *testing.T) {
			t.Parallel()
			test.options.CallTimeout = time.Second
			client := connectWith(t, test.options)
			// Once a connection was tried.
			eventually(t, test.problem, func() bool {
				_, err := client.GetLock(patiently(t), &tenurev1.GetLockRequest{Name: "job"})
				if !errors.Is(err, tenure.ErrUnavailable) {
					t.Fatal(err)
				}
				return strings.Contains(err.Error(), test.problem)
			})
		})
	}
	byAddress.TLSServerName = "server.example"
	byAddress.ClientCert, byAddress.ClientKey = authority.certify("client", "worker.example")
	must(0, use(patiently(t), connectWith(t, byAddress)))
}

func TestTokenIsReadForEachCall(t *testing.T) {
	tokens, mine, ctx := filepath.Join(t.TempDir(), "tokens"), written(t, ""), patiently(t)
	first, firstLine := newToken("first")
	second, secondLine := newToken("second")
	write(tokens, firstLine)
	write(mine, first+"\n")
	server := startServer(t, "--tokens-file", tokens)
	client := connectWith(t, tenure.Options{Endpoints: []string{server.Address}, TokenFile: mine, CallTimeout: patience})
	must(0, use(ctx, client))
	bySecond := tenure.Options{Endpoints: []string{server.Address}, Token: tenure.Secret(second), CallTimeout: patience}
	isRefusedAtOnce(t, connectWith(t, bySecond), "known-token")

	write(tokens, secondLine)
	eventually(t, "the server rejects the first token", func() bool {
		_, err := client.GetLock(ctx, &tenurev1.GetLockRequest{Name: "job"})
		return refusedByRule(err, "known-token")
	})
	write(mine, second+"\n")
	eventually(t, "the client sends the second token", func() bool {
		_, err := client.GetLock(ctx, &tenurev1.GetLockRequest{Name: "job"})
		return err == nil
	})
	must(0, use(ctx, connectWith(t, bySecond)))

	// A token that cannot be read may be about to be replaced.
	must(0, os.Remove(mine))
	read := make(chan error, 1)
	go func() {
		_, err := client.GetLock(ctx, &tenurev1.GetLockRequest{Name: "job"})
		read <- err
	}()
	select {
	case err := <-read:
		t.Fatalf("not waited for: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	write(mine, second)
	must(0, <-read)
}

func TestOpenSessionKeepsRetryingWhileTheCredentialsAreRefused(t *testing.T) {
	authority, successor, ctx := newAuthority(t, "ours"), newAuthority(t, "the next"), patiently(t)
	tokens, mine := filepath.Join(t.TempDir(), "tokens"), written(t, "")
	first, firstLine := newToken("first")
	second, secondLine := newTokenOf("first", "second")
	write(tokens, firstLine)
	write(mine, first)
	secured := startSecuredServer(t, authority, "--tokens-file", tokens)
	options := secured.options()
	options.TokenFile = mine
	client := connectWith(t, options)
	guard := must(client.Lock("job", &tenure.LockOptions{Session: tenure.SessionOptions{TTL: patience}}).Acquire(ctx))

	secured.Kill()
	write(tokens, secondLine)
	cert, key := successor.certify("server", "localhost")
	must(0, os.Rename(cert, filepath.Join(authority.folder, "server.crt")))
	must(0, os.Rename(key, filepath.Join(authority.folder, "server.key")))
	must(0, os.Rename(successor.ca, authority.ca))
	secured.Restart()
	isRefusedAtOnce(t, client, "known-token")
	if !guard.IsValid() {
		t.Errorf("lost: %v", guard.Err())
	}

	write(mine, second)
	eventually(t, "it is accepted again", func() bool {
		reply, err := client.GetLock(ctx, &tenurev1.GetLockRequest{Name: "job"})
		return err == nil && tenure.HolderOf(reply.Lock).GetToken() == guard.Token()
	})
	must(0, guard.Release(ctx))
}

func TestDriverSendsItsCredentials(t *testing.T) {
	authority, tokens := newAuthority(t, "ours"), filepath.Join(t.TempDir(), "tokens")
	token, line := newToken("driver")
	write(tokens, line)
	secured := startSecuredServer(t, authority, "--tls-client-ca", authority.ca, "--tokens-file", tokens)
	cert, key := authority.certify("client", "worker.example")
	driver := startDriver(t)
	for client, credentials := range map[string]map[string]any{
		"by token":       {"token": token},
		"by file":        {"token_file": written(t, token)},
		"by certificate": {"client_cert": cert, "client_key": key},
	} {
		request := map[string]any{
			"do": "connect", "client": client, "endpoints": []string{"https://" + secured.Address}, "ca_cert": authority.ca,
			"tls_server_name": "server.example",
		}
		maps.Copy(request, credentials)
		driver.ask(t, request)
		driver.ask(t, map[string]any{"do": "get_lock", "client": client, "name": "job"})
	}
}
