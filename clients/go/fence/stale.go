package fence

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// ErrStaleToken is what every *StaleTokenError is, to errors.Is.
var ErrStaleToken = errors.New("stale fencing token")

// StaleTokenError is when another holder has taken over: end the work under this token. A retry cannot succeed.
type StaleTokenError struct {
	// Name is what is protected.
	Name string
	// Token is the one that was rejected.
	Token uint64
	// Highest is the highest one that the database has seen for the name.
	Highest uint64
}

func (e *StaleTokenError) Error() string {
	return fmt.Sprintf("stale fencing token %d: %d is the highest seen for %s", e.Token, e.Highest, e.Name)
}

// Is makes it ErrStaleToken.
func (e *StaleTokenError) Is(target error) bool { return target == ErrStaleToken }

// The error of the fence. Each driver adds something of its own, before or after. SQLite has no numbers.
var refusal = regexp.MustCompile(`\bstale fencing token\b(?: \d+: (\d+) is the highest seen for )?`)

// Whether a database has rejected a token, and the highest one seen if the error has it.
func staleness(err error) (highest uint64, isStale bool) {
	if err == nil {
		return 0, false
	}
	said := refusal.FindStringSubmatch(err.Error())
	if said == nil {
		return 0, false
	}
	// Zero where there is no number.
	highest, _ = strconv.ParseUint(said[1], 10, 64)
	return highest, true
}
