package main

import (
	"context"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

func (d *driver) operatorHandlers() map[string]handler {
	return map[string]handler{
		"get_lock": d.getLock, "evict": d.evict, "transfer": d.transfer, "configure_lock": d.configureLock,
	}
}

func (d *driver) getLock(ctx context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	lock, err := client.GetLock(ctx, asked.Name)
	if err != nil {
		return nil, err
	}
	return lockFacts(*lock), nil
}

func (d *driver) evict(ctx context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	_, err = client.Evict(ctx, asked.Name, tenure.EvictOptions{
		Operator: asked.Operator, Note: asked.Note, Token: asked.Token.fencing,
	})
	return nil, err
}

func (d *driver) transfer(ctx context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	claim, err := client.Transfer(ctx, asked.Name, tenure.TransferOptions{
		Operator: asked.Operator, Note: asked.Note, To: asked.To, Drain: asked.Drain.duration(),
	})
	if err != nil {
		return nil, err
	}
	return facts{"token": claim.Token}, nil
}

func (d *driver) configureLock(ctx context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	settings := tenure.LockSettings{Limit: asked.Limit}
	if asked.Preempt != nil {
		settings.Preempt = &tenure.Preempt{
			Settling: asked.Preempt.Settling.duration(), Drain: asked.Preempt.Drain.duration(),
		}
	}
	_, err = client.ConfigureLock(ctx, asked.Name, settings, tenure.ConfigureOptions{
		Operator: asked.Operator, Note: asked.Note,
	})
	return nil, err
}
