package clock

import (
	"math"
	"testing"
	"time"
)

func TestMomentsSaturate(t *testing.T) {
	early, late := Moment(time.Second), Moment(3*time.Second)
	if got := late.Since(early); got != 2*time.Second {
		t.Errorf("since: %v", got)
	}
	if got := early.Since(late); got != 0 {
		t.Errorf("since a later one: %v", got)
	}
	if got := late.After(math.MaxInt64); got != Never {
		t.Errorf("after: %v", got)
	}
}

func TestClockDoesNotRunBackwards(t *testing.T) {
	before := Now()
	if now := Now(); now < before {
		t.Errorf("%v after %v", now, before)
	}
}
