package main

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
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
	reply, err := client.GetLock(ctx, &tenurev1.GetLockRequest{Name: asked.Name})
	if err != nil {
		return nil, err
	}
	return lockFacts(reply.Lock), nil
}

func (d *driver) evict(ctx context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	_, err = client.Evict(ctx, &tenurev1.EvictRequest{
		Name: asked.Name, Operator: asked.Operator, Note: asked.Note, Token: asked.Token.fencing,
	})
	return nil, err
}

func (d *driver) transfer(ctx context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	reply, err := client.Transfer(ctx, &tenurev1.TransferRequest{
		Name: asked.Name, Operator: asked.Operator, Note: asked.Note, ToSessionId: asked.To, Drain: optionalDuration(asked.Drain),
	})
	if err != nil {
		return nil, err
	}
	return facts{"token": reply.Token}, nil
}

func (d *driver) configureLock(ctx context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	settings := &tenurev1.LockSettings{Limit: asked.Limit}
	if asked.Preempt != nil {
		settings.Preempt = &tenurev1.Preempt{
			Settling: optionalDuration(asked.Preempt.Settling), Drain: optionalDuration(asked.Preempt.Drain),
		}
	}
	_, err = client.ConfigureLock(ctx, &tenurev1.ConfigureLockRequest{
		Name: asked.Name, Settings: settings, Operator: asked.Operator, Note: asked.Note,
	})
	return nil, err
}

// A duration of the contract; unset if it is absent.
func optionalDuration(millis *millis) *durationpb.Duration {
	if millis == nil {
		return nil
	}
	return durationpb.New(time.Duration(*millis) * time.Millisecond)
}
