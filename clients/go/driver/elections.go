package main

import (
	"cmp"
	"context"

	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func (d *driver) electionHandlers() map[string]handler {
	return map[string]handler{
		"lead": d.lead, "await_leading": d.awaitLeading, "await_not_leading": d.awaitNotLeading, "resign": d.resign,
		"stop": d.stop, "leader": d.leader,
	}
}

// A candidate that leads whenever it is elected.
type election struct {
	condition
	leads  bool
	token  uint64
	terms  int
	resign chan struct{}
	ended  bool
	err    error
	stop   context.CancelFunc
}

func (d *driver) lead(_ context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	of := &election{resign: make(chan struct{}, 1), stop: stop}
	d.elections.put(asked.Election, of)
	candidate := client.Election(asked.Name, &tenure.LockOptions{Session: asked.sessionOptions()})
	go func() {
		err := candidate.Lead(ctx, func(ctx context.Context, hold *tenure.Hold) error {
			of.change(func() { of.leads, of.token, of.terms = true, hold.Token(), of.terms+1 })
			defer of.change(func() { of.leads = false })
			select {
			case <-of.resign:
			case <-ctx.Done():
			}
			return nil
		})
		d.log.Info("leading has ended", "election", asked.Election, "error", err)
		of.change(func() { of.ended, of.err = true, err })
	}()
	return nil, nil
}

func (d *driver) awaitLeading(ctx context.Context, asked *request) (facts, error) {
	of, err := d.elections.get(asked.Election)
	if err != nil {
		return nil, err
	}
	var answer facts
	var ended error
	err = of.await(ctx, func() bool {
		if answer, ended = (facts{"token": of.token, "terms": of.terms}), nil; !of.leads {
			ended = of.err
		}
		return of.leads || of.ended
	})
	return answer, cmp.Or(err, ended)
}

func (d *driver) awaitNotLeading(ctx context.Context, asked *request) (facts, error) {
	of, err := d.elections.get(asked.Election)
	if err != nil {
		return nil, err
	}
	return nil, of.await(ctx, func() bool { return !of.leads })
}

func (d *driver) resign(_ context.Context, asked *request) (facts, error) {
	of, err := d.elections.get(asked.Election)
	if err != nil {
		return nil, err
	}
	select {
	case of.resign <- struct{}{}:
	default:
	}
	return nil, nil
}

func (d *driver) stop(ctx context.Context, asked *request) (facts, error) {
	of, err := d.elections.get(asked.Election)
	if err != nil {
		return nil, err
	}
	of.stop()
	return nil, of.await(ctx, func() bool { return of.ended })
}

func (d *driver) leader(ctx context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	leader, err := client.Election(asked.Name, nil).Leader(ctx)
	return leaderFacts(leader), err
}

func leaderFacts(leader *tenurev1.Claim) facts {
	if leader == nil {
		return facts{"leader": nil}
	}
	return facts{"leader": facts{
		"session_id": leader.SessionId, "owner": leader.Owner, "token": leader.Token,
	}}
}
