package link

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-lock/tenure/clients/go/internal/engine"
)

// Credentials are a token, or the file where it stands. The file is read for each stream and each call.
type Credentials struct {
	Token, TokenFile string
}

func (c Credentials) isSet() bool { return c.Token != "" || c.TokenFile != "" }

// The option that is set.
func (c Credentials) field() string {
	if c.TokenFile != "" {
		return "token_file"
	}
	return "token"
}

func (c Credentials) check(endpoints []Endpoint) error {
	if !c.isSet() {
		return nil
	}
	if c.Token != "" && c.TokenFile != "" {
		return &engine.Invalid{Field: "token", Problem: "token_file is set as well: set one of them"}
	}
	for _, endpoint := range endpoints {
		if !endpoint.IsTLS && !endpoint.isThisMachine() {
			problem := fmt.Sprintf("it would go to %v in the clear: use https://", endpoint)
			return &engine.Invalid{Field: c.field(), Problem: problem}
		}
	}
	_, err := c.read()
	return err
}

func (c Credentials) read() (string, error) {
	token := c.Token
	if c.TokenFile != "" {
		text, err := read("token_file", c.TokenFile)
		if err != nil {
			return "", err
		}
		token = string(text)
	}
	token = strings.TrimSpace(token)
	isForbidden := func(letter rune) bool { return letter < ' ' || letter > '~' }
	switch {
	case token == "":
		return "", &engine.Invalid{Field: c.field(), Problem: "the token is empty"}
	case strings.ContainsFunc(token, isForbidden):
		return "", &engine.Invalid{Field: c.field(), Problem: "the token has letters that no header may have"}
	}
	return token, nil
}

// GetRequestMetadata adds to a call who makes it.
func (c Credentials) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token, err := c.read()
	if err != nil {
		// Worth another try: the file may be about to be replaced.
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity is not left to grpc, which knows no exception for this machine: check sees to it.
func (c Credentials) RequireTransportSecurity() bool { return false }
