package tenure

import "fmt"

// Secret is a text that is not shown: neither printed, nor logged, nor put into JSON. string(secret) is the text.
type Secret string

const hidden = "***"

// Format shows that there is something, for all verbs.
func (s Secret) Format(state fmt.State, _ rune) {
	if s != "" {
		_, _ = fmt.Fprint(state, hidden)
	}
}

// MarshalText tells that there is something.
func (s Secret) MarshalText() ([]byte, error) { return fmt.Append(nil, s), nil }
