package main

import (
	"context"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

func (d *driver) sessionHandlers() map[string]handler {
	return map[string]handler{
		"connect": d.connect, "close": d.close, "session": d.session, "session_state": d.sessionState,
		"await_state": d.awaitState, "close_session": d.closeSession,
	}
}

func (d *driver) connect(_ context.Context, asked *request) (facts, error) {
	client, err := tenure.Connect(&tenure.Options{
		Endpoints: asked.Endpoints, Namespace: asked.Namespace, ConnectTimeout: asked.ConnectTimeout.duration(),
		CallTimeout: asked.CallTimeout.duration(), Logger: d.log, CACert: asked.CACert, ClientCert: asked.ClientCert,
		ClientKey: asked.ClientKey, TLSServerName: asked.TLSServerName, Token: asked.Token.secret, TokenFile: asked.TokenFile,
	})
	if err != nil {
		return nil, err
	}
	d.clients.put(asked.Client, client)
	return nil, nil
}

func (d *driver) close(ctx context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	return nil, client.Close(ctx)
}

func (d *driver) session(ctx context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	options := asked.sessionOptions()
	options.Metadata, options.StallAfter = asked.Metadata, asked.StallAfter.duration()
	session, err := client.OpenSession(ctx, &options)
	if err != nil {
		return nil, err
	}
	d.sessions.put(asked.Session, session)
	answer := facts{"session_id": session.ID(), "ttl_ms": session.TTL().Milliseconds()}
	if grace := session.DisconnectGrace(); grace > 0 {
		answer["disconnect_grace_ms"] = grace.Milliseconds()
	}
	return answer, nil
}

func (d *driver) sessionState(_ context.Context, asked *request) (facts, error) {
	session, err := d.sessions.get(asked.Session)
	if err != nil {
		return nil, err
	}
	return stateFacts(session), nil
}

func stateFacts(session *tenure.Session) facts {
	answer := facts{"state": session.State(), "valid": session.IsValid()}
	return answer.add("lost", lostFacts(session.Err()))
}

func (d *driver) awaitState(ctx context.Context, asked *request) (facts, error) {
	session, err := d.sessions.get(asked.Session)
	if err != nil {
		return nil, err
	}
	for state := range session.States(ctx) {
		if string(state) == asked.State {
			return stateFacts(session), nil
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return stateFacts(session), nil
}

func (d *driver) closeSession(ctx context.Context, asked *request) (facts, error) {
	session, err := d.sessions.get(asked.Session)
	if err != nil {
		return nil, err
	}
	return nil, session.Close(ctx)
}
