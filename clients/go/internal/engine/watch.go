package engine

import (
	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// How many items of a watch may wait for its reader before the watch is stopped and resumed later.
const watchItemsInQueue = 64

// WatchKey is one watch of this client.
type WatchKey uint64

// WatchSpec is what to watch.
type WatchSpec struct {
	Names, Prefixes, Groups []string
	AfterRevision           uint64
}

// A watch: resumed after the last revision that was kept for its reader, on whatever stream there is.
type watched struct {
	spec    WatchSpec
	command uint64
	// All up to this revision is kept for the reader.
	after uint64
	items []*tenurev1.WatchResponse
	// Told when there is something to take.
	ready chan struct{}
	// Stopped because the reader is behind.
	paused bool
	// Why it has ended.
	ended error
	// The parts of a snapshot that have come so far, and where in it each lock is.
	snapshot *tenurev1.Snapshot
	places   map[string]int
	backoff  backoff.Backoff
}

func (w *watched) detach() {
	w.command = 0
	w.snapshot, w.places = nil, nil
}

func (w *watched) tell() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// StartWatch begins a watch. What it answers tells when there is something to take.
func (e *Engine) StartWatch(key WatchKey, spec WatchSpec, now clock.Moment) <-chan struct{} {
	watched := &watched{spec: spec, after: spec.AfterRevision, ready: make(chan struct{}, 1), backoff: newBackoff()}
	e.watches[key] = watched
	if e.shutDown != nil {
		e.endWatch(key, ErrClosed)
	} else {
		e.sendWatch(key, now)
	}
	return watched.ready
}

// TakeWatched is the next item that is there, or why there are no more.
func (e *Engine) TakeWatched(key WatchKey, now clock.Moment) (*tenurev1.WatchResponse, error) {
	watched := e.watches[key]
	if watched == nil {
		return nil, ErrClosed
	}
	if len(watched.items) == 0 {
		return nil, watched.ended
	}
	item := watched.items[0]
	watched.items = watched.items[1:]
	if len(watched.items) == 0 && watched.paused {
		// The reader has caught up.
		watched.paused = false
		e.sendWatch(key, now)
	}
	return item, nil
}

// DropWatch tells that nobody reads the watch any more.
func (e *Engine) DropWatch(key WatchKey) {
	if watched := e.watches[key]; watched != nil {
		e.stopWatch(watched)
		delete(e.watches, key)
	}
}

// Ends a watch on the stream. What it still tells is not listened to.
func (e *Engine) stopWatch(watched *watched) {
	if e.stream != nil && watched.command != 0 {
		delete(e.stream.sent, watched.command)
		e.stream.cancel(watched.command)
	}
	watched.detach()
}

func (e *Engine) endWatch(key WatchKey, why error) {
	watched := e.watches[key]
	e.stopWatch(watched)
	watched.ended = why
	watched.tell()
}

func (e *Engine) sendWatch(key WatchKey, now clock.Moment) {
	watched := e.watches[key]
	if watched == nil || watched.paused || watched.ended != nil || watched.command != 0 {
		return
	}
	request := &tenurev1.WatchRequest{
		Namespace: e.namespace, Names: watched.spec.Names, Prefixes: watched.spec.Prefixes, Groups: watched.spec.Groups,
		AfterRevision: watched.after,
	}
	command := &tenurev1.Command{Kind: &tenurev1.Command_Watch{Watch: request}}
	watched.command = e.send(command, now, func(answer *tenurev1.Answer, _, now clock.Moment) {
		switch kind := answer.Kind.(type) {
		case *tenurev1.Answer_Watch:
			e.watchTold(watched, kind.Watch)
		case *tenurev1.Answer_Refusal:
			delete(e.stream.sent, answer.Id)
			e.watchRefused(key, refusal(kind.Refusal), now)
		default:
			e.misfit(answer)
		}
	})
}

func (e *Engine) watchTold(watched *watched, told *tenurev1.WatchResponse) {
	watched.backoff.Reset()
	after := told.Revision
	switch kind := told.Kind.(type) {
	case *tenurev1.WatchResponse_Snapshot:
		if watched.snapshot == nil {
			watched.snapshot = &tenurev1.Snapshot{}
			watched.places = make(map[string]int)
		}
		whole := watched.snapshot
		for _, lock := range kind.Snapshot.Locks {
			if place, ok := watched.places[lock.Name]; ok {
				// It changed meanwhile: what came last counts.
				whole.Locks[place] = lock
				continue
			}
			watched.places[lock.Name] = len(whole.Locks)
			whole.Locks = append(whole.Locks, lock)
		}
		whole.Groups = append(whole.Groups, kind.Snapshot.Groups...)
		if kind.Snapshot.More {
			return
		}
		watched.snapshot, watched.places = nil, nil
		told = &tenurev1.WatchResponse{
			Revision: told.Revision, Kind: &tenurev1.WatchResponse_Snapshot{Snapshot: whole},
		}
	case *tenurev1.WatchResponse_HistoryGone:
		watched.snapshot, watched.places = nil, nil
		after = 0
	}
	if len(watched.items) >= watchItemsInQueue {
		// Nothing may pile up here. What is not kept now is asked for again when the reader has caught up.
		watched.paused = true
		e.stopWatch(watched)
		return
	}
	watched.after = after
	watched.items = append(watched.items, told)
	watched.tell()
}

func (e *Engine) watchRefused(key WatchKey, refused *Refusal, now clock.Moment) {
	forNow := e.isForNow(refused)
	watched := e.watches[key]
	if watched == nil {
		return
	}
	watched.detach()
	if forNow {
		e.timers.set(now.After(watched.backoff.Next()), func(now clock.Moment) { e.sendWatch(key, now) })
		return
	}
	watched.ended = refused
	watched.tell()
}
