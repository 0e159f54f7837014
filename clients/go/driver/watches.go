package main

import (
	"context"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

func (d *driver) watchHandlers() map[string]handler {
	return map[string]handler{"watch": d.watch, "observe": d.observe, "next": d.next, "unwatch": d.unwatch}
}

type watch struct {
	items chan watched
	stop  context.CancelFunc
}

// What the next item of a watch is told as.
type watched struct {
	told facts
	err  error
}

func (d *driver) watch(_ context.Context, asked *request) (facts, error) {
	return d.startWatch(asked, func(ctx context.Context, client *tenure.Client, tell func(facts, error)) {
		for event, err := range client.Watch(ctx, &tenure.WatchOptions{
			Names: asked.Names, Prefixes: asked.Prefixes, Groups: asked.Groups, AfterRevision: asked.AfterRevision,
		}) {
			tell(watchFacts(event), err)
		}
	})
}

func (d *driver) observe(_ context.Context, asked *request) (facts, error) {
	return d.startWatch(asked, func(ctx context.Context, client *tenure.Client, tell func(facts, error)) {
		for leader, err := range client.Election(asked.Name, nil).Observe(ctx) {
			tell(leaderFacts(leader), err)
		}
	})
}

func (d *driver) startWatch(
	asked *request, follow func(ctx context.Context, client *tenure.Client, tell func(facts, error)),
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
		follow(ctx, client, func(told facts, err error) {
			select {
			case of.items <- watched{told: told, err: err}:
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
			return item.told, item.err
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

func watchFacts(event tenure.WatchEvent) facts {
	told := facts{"kind": event.Kind, "revision": event.Revision}
	switch event.Kind {
	case tenure.WatchSnapshot:
		told["locks"], told["groups"] = list(event.Locks, lockFacts), list(event.Groups, groupFacts)
	case tenure.WatchEvents:
		told["events"], told["group_events"] = list(event.Events, eventFacts), list(event.GroupEvents, groupEventFacts)
		told["groups"] = list(event.Groups, groupFacts)
	case tenure.WatchHistoryGone:
		told["cause"] = event.Cause
	case tenure.WatchProgress:
	}
	return told
}

func list[T any](things []T, told func(T) facts) []facts {
	all := make([]facts, 0, len(things))
	for _, thing := range things {
		all = append(all, told(thing))
	}
	return all
}

func lockFacts(lock tenure.LockInfo) facts {
	return facts{
		"name": lock.Name, "holders": list(lock.Holders, claimFacts), "waiters": list(lock.Waiters, claimFacts),
	}
}

func claimFacts(claim tenure.Claim) facts {
	told := facts{
		"session_id": claim.SessionID, "owner": claim.Owner, "mode": claim.Mode, "priority": claim.Priority,
		"metadata": claim.Metadata,
	}
	if claim.Token > 0 {
		told["token"] = claim.Token
	}
	if claim.Metadata == nil {
		told["metadata"] = facts{}
	}
	return told
}

func eventFacts(event tenure.Event) facts {
	told := facts{"revision": event.Revision, "name": event.Name, "kind": event.Kind, "vacant": event.Vacant}
	if event.Claim != nil {
		told["session_id"] = event.Claim.SessionID
		if event.Claim.Token > 0 {
			told["token"] = event.Claim.Token
		}
	}
	if event.EndReason != "" {
		told["end_reason"] = event.EndReason
	}
	return told
}
