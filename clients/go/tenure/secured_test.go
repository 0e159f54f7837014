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
)

// A server that speaks TLS, and the authority that has signed its certificate.
type office struct {
	*server
	authority *authority
}

// Besides, it takes these arguments.
func openOffice(t *testing.T, authority *authority, arguments ...string) office {
	t.Helper()
	cert, key := authority.certify("server", "localhost", "office.example")
	return office{
		server:    startServer(t, append([]string{"--tls-cert", cert, "--tls-key", key}, arguments...)...),
		authority: authority,
	}
}

// Options for a client that knows the authority.
func (o office) options() tenure.Options {
	_, port, _ := net.SplitHostPort(o.address)
	return tenure.Options{Endpoints: []string{"https://localhost:" + port}, CACert: o.authority.ca, CallTimeout: patience}
}

// With a certificate for these names.
func (o office) certified(file string, names ...string) tenure.Options {
	options := o.options()
	options.ClientCert, options.ClientKey = o.authority.certify(file, names...)
	return options
}

// Takes a lock and gives it back; asks for it by a plain call, too.
func use(ctx context.Context, client *tenure.Client) error {
	guard, err := client.Lock("job", nil).Acquire(ctx)
	if err != nil {
		return err
	}
	if _, err := client.GetLock(ctx, "job"); err != nil {
		return err
	}
	return guard.Release(ctx)
}

func refusedByRule(err error, rule string) bool {
	var refused *tenure.RefusedError
	return errors.As(err, &refused) && refused.Reason == tenure.ReasonUnauthenticated && refused.Metadata["rule"] == rule
}

// It is told long before the call's time is over.
func isRefusedAtOnce(t *testing.T, client *tenure.Client, rule string) {
	t.Helper()
	ctx, asked := patiently(t), time.Now()
	_, opened := client.OpenSession(ctx, nil)
	_, read := client.GetLock(ctx, "job")
	if !refusedByRule(opened, rule) || !refusedByRule(read, rule) {
		t.Errorf("not %s: %v, %v", rule, opened, read)
	}
	if took := time.Since(asked); took > patience/2 {
		t.Errorf("told after %v", took)
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

func TestACertificateSaysWhoItIs(t *testing.T) {
	authority, ctx := newAuthority(t, "the office"), patiently(t)
	office := openOffice(t, authority, "--tls-client-ca", authority.ca)
	must(0, use(ctx, connectWith(t, office.certified("uri", "spiffe://office/worker"))))
	must(0, use(ctx, connectWith(t, office.certified("host", "worker.example"))))

	isRefusedAtOnce(t, connectWith(t, office.options()), "credentials-required")
	isRefusedAtOnce(t, connectWith(t, office.certified("nobody")), "certificate-name")
	both := office.certified("both", "worker.example")
	both.Token = "anything"
	isRefusedAtOnce(t, connectWith(t, both), "known-token")
}

func TestWhoIsNotToBeTrustedIsToldSo(t *testing.T) {
	authority, stranger := newAuthority(t, "the office"), newAuthority(t, "a stranger")
	office := openOffice(t, authority, "--tls-client-ca", authority.ca)
	elsewhere, byAddress, clear := office.options(), office.options(), office.options()
	elsewhere.TLSServerName = "elsewhere.example"
	byAddress.Endpoints = []string{"https://" + office.address}
	clear.Endpoints, clear.CACert = []string{office.address}, ""
	unknown, foreign := office.options(), office.options()
	unknown.CACert = stranger.ca
	foreign.ClientCert, foreign.ClientKey = stranger.certify("client", "worker.example")
	for _, told := range []struct {
		options tenure.Options
		problem string
	}{
		{unknown, "unknown authority"},
		{elsewhere, "not elsewhere.example"},
		{byAddress, "any IP SANs"},
		{foreign, "unknown certificate authority"},
		// The server says that it expects TLS; gRPC shows that as a connection that failed, or as one that drains.
		{clear, "http://" + office.address + ": "},
	} {
		told.options.CallTimeout = 2 * time.Second
		var unavailable *tenure.UnavailableError
		_, err := connectWith(t, told.options).GetLock(patiently(t), "job")
		if !errors.As(err, &unavailable) || !strings.Contains(unavailable.Problem, told.problem) {
			t.Errorf("not %q: %v", told.problem, err)
		}
	}
	byAddress.TLSServerName = "office.example"
	byAddress.ClientCert, byAddress.ClientKey = authority.certify("client", "worker.example")
	must(0, use(patiently(t), connectWith(t, byAddress)))
}

func TestATokenIsReadForEachCall(t *testing.T) {
	tokens, mine, ctx := filepath.Join(t.TempDir(), "tokens"), written(t, ""), patiently(t)
	first, firstLine := newToken("first")
	second, secondLine := newToken("second")
	write(tokens, firstLine)
	write(mine, first+"\n")
	server := startServer(t, "--tokens-file", tokens)
	client := connectWith(t, tenure.Options{Endpoints: []string{server.address}, TokenFile: mine, CallTimeout: patience})
	must(0, use(ctx, client))
	bySecond := tenure.Options{Endpoints: []string{server.address}, Token: tenure.Secret(second), CallTimeout: patience}
	isRefusedAtOnce(t, connectWith(t, bySecond), "known-token")

	write(tokens, secondLine)
	eventually(t, "the server has forgotten the first", func() bool {
		_, err := client.GetLock(ctx, "job")
		return refusedByRule(err, "known-token")
	})
	write(mine, second+"\n")
	eventually(t, "it shows the second", func() bool {
		_, err := client.GetLock(ctx, "job")
		return err == nil
	})
	must(0, use(ctx, connectWith(t, bySecond)))

	// One that cannot be read is waited for.
	must(0, os.Remove(mine))
	read := make(chan error, 1)
	go func() {
		_, err := client.GetLock(ctx, "job")
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

func TestAnOpenSessionGoesOnTryingWhereTheCredentialsAreRefused(t *testing.T) {
	authority, successor, ctx := newAuthority(t, "the office"), newAuthority(t, "its successor"), patiently(t)
	tokens, mine := filepath.Join(t.TempDir(), "tokens"), written(t, "")
	first, firstLine := newToken("first")
	second, secondLine := newTokenOf("first", "second")
	write(tokens, firstLine)
	write(mine, first)
	office := openOffice(t, authority, "--tokens-file", tokens)
	options := office.options()
	options.TokenFile = mine
	client := connectWith(t, options)
	guard := must(client.Lock("job", &tenure.LockOptions{Session: tenure.SessionOptions{TTL: patience}}).Acquire(ctx))

	office.kill()
	write(tokens, secondLine)
	cert, key := successor.certify("server", "localhost")
	must(0, os.Rename(cert, filepath.Join(authority.folder, "server.crt")))
	must(0, os.Rename(key, filepath.Join(authority.folder, "server.key")))
	must(0, os.Rename(successor.ca, authority.ca))
	office.start()
	isRefusedAtOnce(t, client, "known-token")
	if !guard.IsValid() {
		t.Errorf("lost: %v", guard.Err())
	}

	write(mine, second)
	eventually(t, "it is known again", func() bool {
		lock, err := client.GetLock(ctx, "job")
		return err == nil && lock.Holder() != nil && lock.Holder().Token == guard.Token()
	})
	must(0, guard.Release(ctx))
}

func TestTheDriverSaysWhoItIs(t *testing.T) {
	authority, tokens := newAuthority(t, "the office"), filepath.Join(t.TempDir(), "tokens")
	token, line := newToken("driver")
	write(tokens, line)
	office := openOffice(t, authority, "--tls-client-ca", authority.ca, "--tokens-file", tokens)
	cert, key := authority.certify("client", "worker.example")
	driver := startDriver(t)
	for client, credentials := range map[string]map[string]any{
		"by token":       {"token": token},
		"by file":        {"token_file": written(t, token)},
		"by certificate": {"client_cert": cert, "client_key": key},
	} {
		request := map[string]any{
			"do": "connect", "client": client, "endpoints": []string{"https://" + office.address}, "ca_cert": authority.ca,
			"tls_server_name": "office.example",
		}
		maps.Copy(request, credentials)
		driver.ask(t, request)
		driver.ask(t, map[string]any{"do": "get_lock", "client": client, "name": "job"})
	}
}
