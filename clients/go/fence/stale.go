package fence

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// ErrStaleToken is what every *StaleTokenError is, to errors.Is.
var ErrStaleToken = errors.New("stale fencing token")

// StaleTokenError tells that another holder has taken over: end the work under this token. Trying again is in vain.
type StaleTokenError struct {
	// Name is what is protected.
	Name string
	// Token is the one that was refused.
	Token uint64
	// Highest is the highest one that the database has seen for the name.
	Highest uint64
}

func (e *StaleTokenError) Error() string {
	return fmt.Sprintf("stale fencing token %d: %d is the highest seen for %s", e.Token, e.Highest, e.Name)
}

// Is makes it ErrStaleToken.
func (e *StaleTokenError) Is(target error) bool { return target == ErrStaleToken }

// As the fence says it. Each driver adds something of its own, before or after. SQLite tells no numbers.
var refusal = regexp.MustCompile(`\bstale fencing token\b(?: \d+: (\d+) is the highest seen for )?`)

// Whether a database has refused a token, and the highest one seen if it tells that.
func staleness(err error) (highest uint64, isStale bool) {
	if err == nil {
		return 0, false
	}
	said := refusal.FindStringSubmatch(err.Error())
	if said == nil {
		return 0, false
	}
	// Not a number only where there is none.
	highest, _ = strconv.ParseUint(said[1], 10, 64)
	return highest, true
}
