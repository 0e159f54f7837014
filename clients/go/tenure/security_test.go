package tenure_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	must(0, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestInvalidSecurityOptionsAreRejected(t *testing.T) {
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	cert, key := ours.certify("client", "client")
	_, theirKey := theirs.certify("client", "client")
	missing, nonsense := filepath.Join(t.TempDir(), "missing"), written(t, "nonsense")
	const far, clear = "https://far:1", "http://far:1"
	for _, test := range []struct {
		endpoint       string
		options        tenure.Options
		field, problem string
	}{
		{far, tenure.Options{ClientCert: cert}, "client_cert", "client_key is not"},
		{far, tenure.Options{ClientKey: key}, "client_key", "client_cert is not"},
		{far, tenure.Options{CACert: missing}, "ca_cert", "no such file"},
		{far, tenure.Options{CACert: nonsense}, "ca_cert", "no certificate"},
		{far, tenure.Options{ClientCert: missing, ClientKey: key}, "client_cert", "no such file"},
		{far, tenure.Options{ClientCert: cert, ClientKey: missing}, "client_cert", "no such file"},
		{far, tenure.Options{ClientCert: cert, ClientKey: theirKey}, "client_cert", "does not match"},
		{clear, tenure.Options{CACert: ours.ca}, "ca_cert", "no endpoint is https://"},
		{clear, tenure.Options{ClientCert: cert, ClientKey: key}, "client_cert", "no endpoint is https://"},
		{far, tenure.Options{Token: "a", TokenFile: written(t, "a")}, "token", "token_file is set as well"},
		{far, tenure.Options{Token: " "}, "token", "empty"},
		{far, tenure.Options{Token: "a\nb"}, "token", "letters that no header may have"},
		{far, tenure.Options{TokenFile: missing}, "token_file", "no such file"},
		{far, tenure.Options{TokenFile: written(t, "\n")}, "token_file", "empty"},
		{clear, tenure.Options{Token: "a"}, "token", "in the clear"},
		{clear, tenure.Options{TokenFile: written(t, "a")}, "token_file", "in the clear"},
		{"127.0.0.1.example:1", tenure.Options{Token: "a"}, "token", "in the clear"},
	} {
		// The token would be sent to any of the endpoints.
		test.options.Endpoints = []string{"http://localhost:1", test.endpoint}
		var invalid *tenure.InvalidError
		_, err := tenure.Connect(&test.options)
		if !errors.As(err, &invalid) || invalid.Field != test.field || !strings.Contains(invalid.Problem, test.problem) {
			t.Errorf("%s, %+v: %v", test.endpoint, test.options, err)
		}
	}
}

func TestTokenMayBeSentToThisMachineInTheClear(t *testing.T) {
	for _, endpoint := range []string{"localhost:1", "http://127.0.0.2:1", "http://[::1]:1", "https://far:1"} {
		connectWith(t, tenure.Options{Endpoints: []string{endpoint}, Token: "a"})
	}
}

func TestTokenIsNotShown(t *testing.T) {
	options := tenure.Options{Endpoints: []string{"127.0.0.1:1"}, Token: "open-sesame"}
	client := connectWith(t, options)
	shown := &bytes.Buffer{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		_, _ = fmt.Fprintf(shown, verb+verb+verb, options, &options, options.Token)
	}
	_, _ = fmt.Fprintf(shown, "%v %+v %#v", client, client, client)
	shown.Write(must(json.Marshal(options)))
	slog.New(slog.NewTextHandler(shown, nil)).Info("connecting", "options", options, "token", options.Token)
	slog.New(slog.NewJSONHandler(shown, nil)).Info("connecting", "options", options, "token", options.Token)
	inHex := fmt.Sprintf("%x", "open-sesame")
	text := shown.String()
	if strings.Contains(text, "sesame") || strings.Contains(text, inHex) || !strings.Contains(text, "***") {
		t.Error(text)
	}
}
