// Package backoff has the pauses between attempts: longer each time, and different for each client.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Backoff is doubling pauses with jitter: each is drawn from the upper half of its step.
type Backoff struct {
	// First is the first step, and Longest the last one.
	First, Longest time.Duration
	tries          int
}

// Next is the pause before the next attempt.
func (b *Backoff) Next() time.Duration {
	step := min(b.First<<min(b.tries, 16), b.Longest)
	b.tries++
	return step/2 + rand.N(step/2+1)
}

// Reset starts again with a short pause, after a success.
func (b *Backoff) Reset() { b.tries = 0 }
