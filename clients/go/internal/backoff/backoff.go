// Package backoff has the pauses between tries: longer each time, and never the same for all clients.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Backoff is doubling pauses with jitter: each is drawn from the upper half of its step.
type Backoff struct {
	first, longest time.Duration
	tries          int
}

// New begins with pauses of first, and ends with pauses of longest.
func New(first, longest time.Duration) Backoff {
	return Backoff{first: first, longest: longest}
}

// Next is the pause before the next try.
func (b *Backoff) Next() time.Duration {
	step := min(b.first<<min(b.tries, 16), b.longest)
	b.tries++
	return step/2 + rand.N(step/2+1)
}

// Reset tells that it went well: the next pause is short again.
func (b *Backoff) Reset() {
	b.tries = 0
}
