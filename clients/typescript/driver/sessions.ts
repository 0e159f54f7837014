// Clients and sessions.
import type { SessionOptions, SessionState } from 'tenure-client';
import { Client, Session } from 'tenure-client';
import type { Handler, Request } from './request.js';
import { Things } from './request.js';
import { lostToWire } from './wire.js';

export const clientsByName = new Things<Client>('client');
export const sessionsByName = new Things<Session>('session');

const CLIENT_OPTIONS = {
  endpoints: 'endpoints',
  namespace: 'namespace',
  connect_timeout_ms: 'connectTimeoutMs',
  call_timeout_ms: 'callTimeoutMs',
  ca_cert: 'caCert',
  client_cert: 'clientCert',
  client_key: 'clientKey',
  tls_server_name: 'tlsServerName',
  token: 'token',
  token_file: 'tokenFile',
};
const OWN_SESSION_OPTIONS = {
  ttl_ms: 'ttlMs',
  disconnect_grace_ms: 'disconnectGraceMs',
  owner: 'owner',
  session_id: 'id',
};
const SESSION_OPTIONS = { ...OWN_SESSION_OPTIONS, metadata: 'metadata', stall_after_ms: 'stallAfterMs' };

/** Of a session that is opened for a request that has metadata and a `stall_after_ms` of its own. */
export function ownSession(request: Request): { session: SessionOptions } {
  return { session: request.options(OWN_SESSION_OPTIONS) };
}

/** The session that the request names, or the client. */
export function place(request: Request): Client | Session {
  return request.has('session') ? sessionsByName.get(request) : clientsByName.get(request);
}

function stateToWire(state: SessionState): object {
  const isLost = state.state === 'lost';
  return { state: state.state, valid: !isLost, lost: isLost ? lostToWire(state.lost) : undefined };
}

export const sessions: Record<string, Handler> = {
  connect: (request) => {
    clientsByName.set(request, Client.connect(request.options(CLIENT_OPTIONS)));
    return {};
  },
  close: async (request) => {
    await clientsByName.get(request).close();
    return {};
  },
  session: async (request) => {
    const { signal } = request;
    const session = await clientsByName.get(request).session(request.options(SESSION_OPTIONS), { signal });
    sessionsByName.set(request, session);
    const { id, ttlMs, disconnectGraceMs } = session;
    return { session_id: id, ttl_ms: ttlMs, disconnect_grace_ms: disconnectGraceMs };
  },
  session_state: (request) => stateToWire(sessionsByName.get(request).state),
  await_state: async (request) => {
    const { signal } = request;
    const wanted = request.text('state');
    for await (const state of sessionsByName.get(request).states({ signal })) {
      if (state.state === wanted || state.state === 'lost') {
        return stateToWire(state);
      }
    }
    return undefined;
  },
  close_session: async (request) => {
    await sessionsByName.get(request).close();
    return {};
  },
};
