package main

import (
	"context"
	"slices"

	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func (d *driver) watchHandlers() map[string]handler {
	return map[string]handler{"watch": d.watch, "observe": d.observe, "next": d.next, "unwatch": d.unwatch}
}

type watch struct {
	items chan watched
	stop  context.CancelFunc
}

// An item of a watch.
type watched struct {
	answer facts
	err    error
}

func (d *driver) watch(_ context.Context, asked *request) (facts, error) {
	return d.startWatch(asked, func(ctx context.Context, client *tenure.Client, put func(facts, error)) {
		for response, err := range client.Watch(ctx, &tenurev1.WatchRequest{
			Names: asked.Names, Prefixes: asked.Prefixes, Groups: asked.Groups, AfterRevision: asked.AfterRevision,
		}) {
			put(watchFacts(response), err)
		}
	})
}

func (d *driver) observe(_ context.Context, asked *request) (facts, error) {
	return d.startWatch(asked, func(ctx context.Context, client *tenure.Client, put func(facts, error)) {
		for leader, err := range client.Election(asked.Name, nil).Observe(ctx) {
			put(leaderFacts(leader), err)
		}
	})
}

func (d *driver) startWatch(
	asked *request, follow func(ctx context.Context, client *tenure.Client, put func(facts, error)),
) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	of := &watch{items: make(chan watched), stop: stop}
	d.watches.put(asked.Watch, of)
	go func() {
		defer close(of.items)
		follow(ctx, client, func(answer facts, err error) {
			select {
			case of.items <- watched{answer: answer, err: err}:
			case <-ctx.Done():
			}
		})
	}()
	return nil, nil
}

func (d *driver) next(ctx context.Context, asked *request) (facts, error) {
	of, err := d.watches.get(asked.Watch)
	if err != nil {
		return nil, err
	}
	select {
	case item, some := <-of.items:
		switch {
		case !some:
			return nil, mistake("the watch has ended")
		default:
			return item.answer, item.err
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (d *driver) unwatch(_ context.Context, asked *request) (facts, error) {
	of, err := d.watches.get(asked.Watch)
	if err != nil {
		return nil, err
	}
	of.stop()
	return nil, nil
}

func watchFacts(response *tenurev1.WatchResponse) facts {
	answer := facts{"revision": response.GetRevision()}
	switch kind := response.GetKind().(type) {
	case *tenurev1.WatchResponse_Snapshot:
		answer["kind"] = "snapshot"
		answer["locks"], answer["groups"] = list(kind.Snapshot.Locks, lockFacts), list(kind.Snapshot.Groups, groupFacts)
	case *tenurev1.WatchResponse_Events:
		answer["kind"], answer["groups"] = "events", list(kind.Events.Groups, groupFacts)
		answer["group_events"] = list(kind.Events.GroupEvents, groupEventFacts)
		events := []facts{}
		for _, event := range kind.Events.Events {
			events = append(events, eventFacts(event)...)
		}
		answer["events"] = events
	case *tenurev1.WatchResponse_HistoryGone:
		answer["kind"], answer["cause"] = "history_gone", word(kind.HistoryGone.Cause, "HISTORY_GONE_CAUSE_")
	default:
		answer["kind"] = "progress"
	}
	return answer
}

func list[T any](things []T, factsOf func(T) facts) []facts {
	all := make([]facts, 0, len(things))
	for _, thing := range things {
		all = append(all, factsOf(thing))
	}
	return all
}

func lockFacts(lock *tenurev1.Lock) facts {
	return facts{
		"name": lock.Name, "holders": list(lock.Holders, claimFacts), "waiters": list(lock.Waiters, claimFacts),
	}
}

func claimFacts(claim *tenurev1.Claim) facts {
	answer := facts{
		"session_id": claim.SessionId, "owner": claim.Owner, "mode": word(claim.Mode, "MODE_"), "priority": claim.Priority,
		"metadata": metadataFacts(claim.Metadata),
	}
	return answer.add("token", number(claim.Token))
}

// An empty object instead of none.
func metadataFacts(metadata map[string]string) any {
	if metadata == nil {
		return facts{}
	}
	return metadata
}

// An event, once for each of its locks.
func eventFacts(event *tenurev1.Event) []facts {
	return list(event.Names, func(name string) facts {
		answer := facts{
			"revision": event.Revision, "name": name, "kind": word(event.Type, "EVENT_TYPE_"),
			"vacant": slices.Contains(event.VacantNames, name),
		}
		if event.Claim != nil {
			answer["session_id"] = event.Claim.SessionId
		}
		if event.EndReason != 0 {
			answer["end_reason"] = word(event.EndReason, "END_REASON_")
		}
		return answer.add("token", number(event.Claim.GetToken()))
	})
}
