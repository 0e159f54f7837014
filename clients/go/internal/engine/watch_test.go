package engine

import (
	"testing"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func TestAReaderThatIsBehindStopsItsWatchAndMissesNothing(t *testing.T) {
	b := newBench(t)
	b.engine.StartWatch(1, WatchSpec{AfterRevision: 4}, b.now)
	command, _ := saidOnce[*tenurev1.Command_Watch](b)
	told := func(command uint64, revision uint64) {
		b.hear(&tenurev1.Answer{Kind: &tenurev1.Answer_Watch{Watch: &tenurev1.WatchResponse{
			Revision: revision, Kind: &tenurev1.WatchResponse_Events{Events: &tenurev1.Events{}},
		}}}, command)
	}
	last := uint64(4 + watchItemsInQueue)
	for revision := uint64(5); revision <= last+2; revision++ {
		told(command, revision)
	}
	_, cancel := saidOnce[*tenurev1.Command_Cancel](b)
	equal(t, "cancelled", cancel.Cancel.CommandId, command)
	for revision := uint64(5); revision <= last; revision++ {
		item, err := b.engine.TakeWatched(1, b.now)
		if err != nil || item.Revision != revision {
			t.Fatalf("%v %v", item, err)
		}
	}
	_, kind := saidOnce[*tenurev1.Command_Watch](b)
	equal(t, "resumed after", kind.Watch.AfterRevision, last)
}
