package backoff

import (
	"testing"
	"time"
)

func TestPausesGrowWithinTheirBounds(t *testing.T) {
	first, longest := 50*time.Millisecond, time.Second
	b := Backoff{First: first, Longest: longest}
	var pauses []time.Duration
	for range 40 {
		pauses = append(pauses, b.Next())
	}
	if pauses[0] < first/2 || pauses[0] > first {
		t.Errorf("the first: %v", pauses[0])
	}
	if pauses[1] < first || pauses[1] > 2*first {
		t.Errorf("the second: %v", pauses[1])
	}
	for _, pause := range pauses[20:] {
		if pause < longest/2 || pause > longest {
			t.Errorf("a later one: %v", pause)
		}
	}
	b.Reset()
	if pause := b.Next(); pause > first {
		t.Errorf("after a reset: %v", pause)
	}
}
