package engine

import (
	"testing"
	"time"
)

func TestTheWorkStopsBeforeTheDrainIsOver(t *testing.T) {
	now := at(100_000)
	for drain, left := range map[int]int{100: 80, 1000: 800, 10_000: 9000, 60_000: 59_000} {
		request := requestedTransfer(time.Duration(drain)*ms, "", "", now)
		equal(t, "the work stops", request.StopAt, now.After(time.Duration(left)*ms))
	}
}
