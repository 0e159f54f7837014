// Package clock has the clock by which the client decides: it runs while the machine is suspended, where the platform
// has such a clock.
package clock

import (
	"math"
	"time"
)

// Moment is a time on this machine's clock, as what has passed since some fixed moment.
type Moment time.Duration

// Never is later than every other moment.
const Never Moment = math.MaxInt64

// After is the moment that is d later. It saturates.
func (m Moment) After(d time.Duration) Moment {
	if d > 0 && m > Never-Moment(d) {
		return Never
	}
	return m + Moment(d)
}

// Since is what has passed since an earlier moment; zero if that is a later one.
func (m Moment) Since(earlier Moment) time.Duration { return max(0, time.Duration(m-earlier)) }
