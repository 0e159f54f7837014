package engine

import (
	"slices"
	"testing"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
)

func TestClaimsThatShareANameTakeTurnsInOrderOfArrival(t *testing.T) {
	a, ab, b := []string{"a"}, []string{"a", "b"}, []string{"b"}
	turns := turns{}
	equal(t, "the first", turns.join(1, a), true)
	equal(t, "the second", turns.join(2, ab), false)
	equal(t, "nobody overtakes", turns.join(3, b), false)
	equal(t, "first", turns.isFirst(1, a), true)
	equal(t, "not first", turns.isFirst(2, ab), false)
	for place, names := range [][]string{a, ab, b} {
		want := []ClaimKey{ClaimKey(place + 2)}
		if place == 2 {
			want = nil
		}
		if next := turns.leave(ClaimKey(place+1), names); !slices.Equal(next, want) {
			t.Errorf("after %v: %v", names, next)
		}
	}
	equal(t, "idle names leave nothing behind", len(turns), 0)
}

func TestWhoLeavesFromTheMiddleMakesRoom(t *testing.T) {
	a, turns := []string{"a"}, turns{}
	for key := range ClaimKey(3) {
		turns.join(key, a)
	}
	equal(t, "still first", turns.leave(1, a)[0], 0)
	equal(t, "next", turns.leave(0, a)[0], 2)
}

func TestTimersComeDueInOrderAndNotWhenTakenOut(t *testing.T) {
	var timers timers
	var done []int
	set := func(milliseconds int) *timer {
		return timers.set(at(milliseconds), func(clock.Moment) { done = append(done, milliseconds) })
	}
	set(3)
	out := set(1)
	set(2)
	late := set(9)
	timers.clear(out)
	timers.clear(out)
	for due := timers.pop(at(5)); due != nil; due = timers.pop(at(5)) {
		due.do(at(5))
		timers.clear(due)
	}
	if !slices.Equal(done, []int{2, 3}) {
		t.Errorf("%v", done)
	}
	timers.clear(late)
	_, some := timers.next()
	equal(t, "left", some, false)
}
