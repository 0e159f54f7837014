package main

import (
	"context"
	"sync"

	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func (d *driver) lockHandlers() map[string]handler {
	return map[string]handler{
		"acquire": d.acquire, "hold": d.hold, "await_lost": d.awaitLost, "tick": d.tick, "release": d.release, "drop": d.drop,
		"update": d.update, "transfer_to": d.transferTo, "await_transfer": d.awaitTransfer,
		"run": d.run, "await_body": d.awaitBody, "finish": d.finish,
	}
}

// The requested lock: of a session if the request names one, else of the client.
func (d *driver) lockOf(asked *request) (*tenure.Lock, error) {
	if asked.Session != "" {
		session, err := d.sessions.get(asked.Session)
		if err != nil {
			return nil, err
		}
		return session.Locks(asked.Names, asked.lockOptions()), nil
	}
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	return client.Locks(asked.Names, asked.lockOptions()), nil
}

func (d *driver) acquire(ctx context.Context, asked *request) (facts, error) {
	lock, err := d.lockOf(asked)
	if err != nil {
		return nil, err
	}
	var guard *tenure.Guard
	var busy *tenurev1.BusyState
	switch wait := asked.Wait; {
	case wait == nil:
		guard, err = lock.Acquire(ctx)
	case *wait == 0:
		guard, busy, err = lock.TryAcquire(ctx)
	default:
		guard, busy, err = lock.AcquireWithin(ctx, wait.duration())
	}
	switch {
	case err != nil:
		return nil, err
	case busy != nil:
		return facts{"acquired": false}.add("holder", holderFacts(busy)), nil
	}
	d.guards.put(asked.Guard, guard)
	return facts{
		"acquired": true, "token": guard.Token(), "names": guard.Names(), "session_id": guard.Session().ID(),
	}, nil
}

func holderFacts(busy *tenurev1.BusyState) any {
	if busy.Holder == nil {
		return nil
	}
	return claimFacts(busy.Holder)
}

func (d *driver) hold(_ context.Context, asked *request) (facts, error) {
	guard, err := d.guards.get(asked.Guard)
	if err != nil {
		return nil, err
	}
	lost := guard.Err()
	return facts{"valid": lost == nil, "token": guard.Token()}.add("lost", lostFacts(lost)), nil
}

func (d *driver) awaitLost(ctx context.Context, asked *request) (facts, error) {
	guard, err := d.guards.get(asked.Guard)
	if err != nil {
		return nil, err
	}
	select {
	case <-guard.Lost():
		return facts{"lost": lostFacts(guard.Err())}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (d *driver) tick(_ context.Context, asked *request) (facts, error) {
	guard, err := d.guards.get(asked.Guard)
	if err != nil {
		return nil, err
	}
	guard.Tick()
	return nil, nil
}

func (d *driver) release(ctx context.Context, asked *request) (facts, error) {
	guard, err := d.guards.get(asked.Guard)
	if err != nil {
		return nil, err
	}
	return nil, guard.Release(ctx)
}

func (d *driver) drop(_ context.Context, asked *request) (facts, error) {
	guard, err := d.guards.get(asked.Guard)
	if err != nil {
		return nil, err
	}
	go func() {
		if err := guard.Release(context.Background()); err != nil {
			d.log.Info("dropped", "error", err)
		}
	}()
	return nil, nil
}

func (d *driver) update(ctx context.Context, asked *request) (facts, error) {
	guard, err := d.guards.get(asked.Guard)
	if err != nil {
		return nil, err
	}
	return nil, guard.UpdateMetadata(ctx, asked.Metadata)
}

func (d *driver) transferTo(ctx context.Context, asked *request) (facts, error) {
	guard, err := d.guards.get(asked.Guard)
	if err != nil {
		return nil, err
	}
	token, err := guard.TransferTo(ctx, asked.SessionID)
	return facts{"token": token}, err
}

func (d *driver) awaitTransfer(ctx context.Context, asked *request) (facts, error) {
	guard, err := d.guards.get(asked.Guard)
	if err != nil {
		return nil, err
	}
	wanted, err := guard.TransferRequested(ctx)
	if err != nil {
		return nil, err
	}
	answer := facts{"drain_ms": wanted.Pending.Drain.AsDuration().Milliseconds()}
	return answer.add("operator", text(wanted.Pending.Operator)).add("note", text(wanted.Pending.Note)), nil
}

// A body that runs under a lock.
type run struct {
	begun  chan struct{}
	finish func()
	done   <-chan struct{}
	token  uint64
}

func newRun() *run {
	done := make(chan struct{})
	return &run{begun: make(chan struct{}), done: done, finish: sync.OnceFunc(func() { close(done) })}
}

func (d *driver) run(ctx context.Context, asked *request) (facts, error) {
	lock, err := d.lockOf(asked)
	if err != nil {
		return nil, err
	}
	of, err := d.runs.get(asked.Run)
	if err != nil {
		return nil, err
	}
	ran := false
	body := func(ctx context.Context, hold *tenure.Hold) error {
		ran, of.token = true, hold.Token()
		close(of.begun)
		select {
		case <-of.done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	var busy *tenurev1.BusyState
	switch {
	case asked.Wait == nil:
		err = lock.Do(ctx, body)
	case *asked.Wait == 0:
		busy, err = lock.TryDo(ctx, body)
	default:
		return nil, mistake("a body runs at once, or whenever it is its turn")
	}
	if busy != nil {
		return facts{"ran": false}.add("holder", holderFacts(busy)), nil
	}
	return facts{"ran": ran, "token": of.token}, err
}

func (d *driver) awaitBody(ctx context.Context, asked *request) (facts, error) {
	of, err := d.runs.get(asked.Run)
	if err != nil {
		return nil, err
	}
	select {
	case <-of.begun:
		return facts{"token": of.token}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (d *driver) finish(_ context.Context, asked *request) (facts, error) {
	of, err := d.runs.get(asked.Run)
	if err != nil {
		return nil, err
	}
	of.finish()
	return nil, nil
}
