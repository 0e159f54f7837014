package tenure

import (
	"context"
	"errors"
	"iter"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/internal/engine"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// WatchOptions tell what to watch. With neither names nor prefixes nor groups, as with nil: all locks.
type WatchOptions struct {
	// Names are locks: at most 100.
	Names []string
	// Prefixes are those of the names of locks: at most 100.
	Prefixes []string
	// Groups are names of groups: at most 100.
	Groups []string
	// AfterRevision begins with the events after this revision instead of a snapshot: the last one that an earlier watch told.
	AfterRevision uint64
}

// WatchEvent is what a watch tells.
type WatchEvent struct {
	// Kind is what is told.
	Kind WatchKind
	// Revision up to which all has been told. 0 with WatchHistoryGone.
	Revision uint64
	// Locks, with WatchSnapshot: those that are held or waited for, and those watched by name even if they are idle.
	Locks []LockInfo
	// Groups that are watched, with WatchSnapshot; with WatchEvents those that changed, as they are now. Of what is told late, only
	// the last tells how a group is.
	Groups []GroupInfo
	// Events are what happened to locks, in order of revision, with WatchEvents.
	Events []Event
	// GroupEvents are what happened to groups, in order of revision, with WatchEvents.
	GroupEvents []GroupEvent
	// Cause is why history is gone, with WatchHistoryGone: compacted (dropped after the configured time), or lost by the database.
	Cause string
}

// WatchKind is what a watch can tell.
type WatchKind string

// What a watch can tell.
const (
	// WatchSnapshot is everything that is watched, as it is at one revision. Comes first unless the watch was resumed, and after
	// WatchHistoryGone.
	WatchSnapshot WatchKind = "snapshot"
	// WatchEvents are what happened in one commit, and how groups are after it.
	WatchEvents WatchKind = "events"
	// WatchProgress is when nothing happened to what is watched, up to this revision.
	WatchProgress WatchKind = "progress"
	// WatchHistoryGone is when the history after the last revision that was told is not there any more. A snapshot follows.
	WatchHistoryGone WatchKind = "history_gone"
)

// Watch tells what happens to locks and groups: each revision once and in order, across reconnects. It ends with the context,
// with the client, and with an error that trying again cannot cure, after that has been told. A reader that is slow loses
// nothing: the server is asked again from where the reader is.
//
// The context's end is told as an error, too. To be ranged over once.
func (c *Client) Watch(ctx context.Context, options *WatchOptions) iter.Seq2[WatchEvent, error] {
	var spec engine.WatchSpec
	if options != nil {
		spec = engine.WatchSpec{
			Names: options.Names, Prefixes: options.Prefixes, Groups: options.Groups, AfterRevision: options.AfterRevision,
		}
	}
	return func(yield func(WatchEvent, error) bool) {
		key := engine.WatchKey(c.link.Key())
		var ready <-chan struct{}
		c.link.With(func(e *engine.Engine, now clock.Moment) { ready = e.StartWatch(key, spec, now) })
		defer c.link.With(func(e *engine.Engine, _ clock.Moment) { e.DropWatch(key) })
		for {
			if ctx.Err() != nil {
				yield(WatchEvent{}, context.Cause(ctx))
				return
			}
			var item *tenurev1.WatchResponse
			var err error
			c.link.With(func(e *engine.Engine, now clock.Moment) { item, err = e.TakeWatched(key, now) })
			switch {
			case err != nil:
				yield(WatchEvent{}, told(err))
				return
			case item != nil:
				if !yield(watchEventOf(item), nil) {
					return
				}
				continue
			}
			select {
			case <-ready:
			case <-ctx.Done():
			}
		}
	}
}

func watchEventOf(wire *tenurev1.WatchResponse) WatchEvent {
	switch kind := wire.Kind.(type) {
	case *tenurev1.WatchResponse_Snapshot:
		return WatchEvent{
			Kind: WatchSnapshot, Revision: wire.Revision, Locks: each(kind.Snapshot.Locks, lockOf),
			Groups: each(kind.Snapshot.Groups, groupOf),
		}
	case *tenurev1.WatchResponse_Events:
		return WatchEvent{
			Kind: WatchEvents, Revision: wire.Revision, Events: eventsOf(kind.Events.Events),
			GroupEvents: each(kind.Events.GroupEvents, groupEventOf), Groups: each(kind.Events.Groups, groupOf),
		}
	case *tenurev1.WatchResponse_HistoryGone:
		return WatchEvent{Kind: WatchHistoryGone, Cause: word(kind.HistoryGone.Cause.String(), "HISTORY_GONE_CAUSE_")}
	default:
		return WatchEvent{Kind: WatchProgress, Revision: wire.Revision}
	}
}

// Whether a watch or another loop that goes on for ever is over: its context, or its client.
func isOver(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, ErrClosed)
}
