package engine

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
)

const ms = time.Millisecond

func at(milliseconds int) clock.Moment { return clock.Moment(time.Duration(milliseconds) * ms) }

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}

func TestItCountsFromTheSendingAndNotFromTheAnswer(t *testing.T) {
	validity := NewValidity(1200*ms, 0, at(0))
	equal(t, "opened", validity.until(), at(1200-12-60))
	validity.renewed(1200*ms, at(400), at(700))
	equal(t, "renewed", validity.until(), at(400+1200-12-60))
}

func TestItGoesThroughItsPhases(t *testing.T) {
	validity := NewValidity(1200*ms, 0, at(0))
	change, _ := validity.nextChange(at(0))
	equal(t, "at risk at", change, at(728))
	equal(t, "727", validity.phase(at(727)), Healthy)
	equal(t, "728", validity.phase(at(728)), AtRisk)
	change, _ = validity.nextChange(at(728))
	equal(t, "over at", change, at(1128))
	equal(t, "1127", validity.phase(at(1127)), AtRisk)
	equal(t, "1128", validity.phase(at(1128)), Over)
	_, some := validity.nextChange(at(1128))
	equal(t, "changes", some, false)
}

func TestALateAnswerRevivesNothing(t *testing.T) {
	validity := NewValidity(1200*ms, 0, at(0))
	// The process was paused: the renewal was sent in time, but its answer is read after the end.
	validity.renewed(1200*ms, at(1000), at(1130))
	equal(t, "then", validity.phase(at(1130)), Over)
	equal(t, "for a clock that is read late", validity.phase(at(1000)), Over)
}

func TestAFailoverFitsIntoTheTTL(t *testing.T) {
	for _, ttl := range []time.Duration{100 * ms, 500 * ms, 1200 * ms, 10 * time.Second, 24 * time.Hour} {
		validity := NewValidity(ttl, 0, at(0))
		// Answered at once, then silence: the next renewal is sent, and waited for.
		noticed := clock.Moment(renewalPeriod(ttl) + silenceLimit(ttl))
		if left := validity.until().Since(noticed); left < ttl/4 {
			t.Errorf("%v: %v", ttl, left)
		}
	}
}

func TestWithAGraceItIsOverWhenNothingWasHeardForThatLong(t *testing.T) {
	ttl, grace := 10*time.Second, 300*ms
	validity := NewValidity(ttl, grace, at(0))
	equal(t, "window", validity.window(), grace)
	equal(t, "opened", validity.until(), at(300-3-15))
	validity.renewed(ttl, at(100), at(160))
	equal(t, "renewed", validity.until(), at(100+282))
	equal(t, "281", validity.phase(at(281)), Healthy)
	equal(t, "282", validity.phase(at(282)), AtRisk)
	equal(t, "382", validity.phase(at(382)), Over)
	validity.renewed(ttl, at(300), at(383))
	equal(t, "383", validity.phase(at(383)), Over)
}

func TestAGraceThatComesWithANewStreamIsInForceAtOnce(t *testing.T) {
	ttl := 10 * time.Second
	validity := NewValidity(ttl, 0, at(0))
	validity.attached(ttl, time.Second, at(50), at(60))
	equal(t, "whatever the TTL promised before", validity.until(), at(50+1000-10-50))
	validity.attached(ttl, 0, at(100), at(110))
	equal(t, "without", validity.until(), at(100+10000-100-500))
}

// A server that gives the session away as early as it may: when the TTL has passed on its clock, which runs as much faster as
// clocks may, since it received the last renewal, which was right after that was sent; or the grace since the stream broke,
// which was right after that.
func givenAway(ttl, grace time.Duration, sent clock.Moment) clock.Moment {
	if grace > 0 {
		ttl = min(ttl, grace)
	}
	return sent.After(time.Duration(float64(ttl) / 1.01))
}

// Whatever arrives when: what is called valid has not been given away, and what is over stays over.
func TestItIsNeverValidAfterTheServerMayHaveGivenItAway(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		ttl := time.Duration(100+random.IntN(19900)) * ms
		grace := time.Duration(0)
		if random.IntN(2) == 0 {
			grace = min(ttl, time.Duration(100+random.IntN(19900))*ms)
		}
		validity := NewValidity(ttl, grace, at(0))
		lastReceived, now, wasOver := at(0), at(0), false
		for range 1 + random.IntN(40) {
			sent := now.After(time.Duration(random.IntN(8000)) * ms)
			now = sent.After(time.Duration(random.IntN(8000)) * ms)
			if serverHasIt := sent < givenAway(ttl, grace, lastReceived); serverHasIt && random.IntN(2) == 0 {
				lastReceived = sent
				validity.renewed(ttl, sent, now)
			}
			phase := validity.phase(now)
			if phase != Over {
				away := givenAway(ttl, grace, lastReceived)
				change, some := validity.nextChange(now)
				if now >= away || wasOver || validity.until() >= away || !some || change <= now {
					t.Fatalf("seed %d: valid at %v, until %v, given away at %v", seed, now, validity.until(), away)
				}
			}
			wasOver = phase == Over
		}
	}
}
