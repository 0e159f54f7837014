package engine

import (
	"container/heap"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
)

// One thing to be done later. Most are never taken out early: what they do looks whether it still is to be done.
type timer struct {
	at    clock.Moment
	count uint64
	place int
	do    func(now clock.Moment)
}

// Timers in order of time, and of setting.
type timers struct {
	due   []*timer
	count uint64
}

func (t *timers) set(at clock.Moment, do func(now clock.Moment)) *timer {
	t.count++
	set := &timer{at: at, count: t.count, do: do}
	heap.Push(t, set)
	return set
}

// Takes a timer out. It may have been due before.
func (t *timers) clear(of *timer) {
	if of != nil && of.place >= 0 {
		heap.Remove(t, of.place)
	}
}

func (t *timers) next() (clock.Moment, bool) {
	if len(t.due) == 0 {
		return 0, false
	}
	return t.due[0].at, true
}

// The earliest one that is due.
func (t *timers) pop(now clock.Moment) *timer {
	if at, some := t.next(); !some || at > now {
		return nil
	}
	first, _ := heap.Pop(t).(*timer)
	return first
}

// As container/heap wants it.

func (t *timers) Len() int { return len(t.due) }

func (t *timers) Less(i, j int) bool {
	a, b := t.due[i], t.due[j]
	return a.at < b.at || a.at == b.at && a.count < b.count
}

func (t *timers) Swap(i, j int) {
	t.due[i], t.due[j] = t.due[j], t.due[i]
	t.due[i].place, t.due[j].place = i, j
}

func (t *timers) Push(x any) {
	if set, ok := x.(*timer); ok {
		set.place = len(t.due)
		t.due = append(t.due, set)
	}
}

func (t *timers) Pop() any {
	last := t.due[len(t.due)-1]
	t.due[len(t.due)-1] = nil
	t.due = t.due[:len(t.due)-1]
	last.place = -1
	return last
}
