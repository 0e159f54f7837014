// What an operator asks.
import type { LockSettings } from 'tenure-client';
import type { Handler, Request } from './request.js';
import { clientsByName } from './sessions.js';
import { lockToWire } from './watches.js';

function onBehalf(request: Request) {
  const note = request.get<string>('note');
  const token = request.revision('token');
  return {
    operator: request.get<string>('operator') ?? '',
    ...(note !== undefined && { note }),
    ...(token !== undefined && { token }),
    signal: request.signal,
  };
}

export const operations: Record<string, Handler> = {
  get_lock: async (request) => {
    const { signal } = request;
    return lockToWire(await clientsByName.get(request).getLock(request.text('name'), { signal }));
  },
  evict: async (request) => {
    await clientsByName.get(request).evict(request.text('name'), onBehalf(request));
    return {};
  },
  transfer: async (request) => {
    const options = { ...onBehalf(request), ...request.options({ to: 'to', drain_ms: 'drainMs' }) };
    const claim = await clientsByName.get(request).transfer(request.text('name'), options);
    return { token: claim?.token };
  },
  configure_lock: async (request) => {
    const preempt = request.get<{ settling_ms?: number; drain_ms?: number }>('preempt');
    const settings: LockSettings = {
      ...request.options({ limit: 'limit' }),
      ...(preempt !== undefined && {
        preempt: {
          ...(preempt.settling_ms !== undefined && { settlingMs: preempt.settling_ms }),
          ...(preempt.drain_ms !== undefined && { drainMs: preempt.drain_ms }),
        },
      }),
    };
    await clientsByName.get(request).configureLock(request.text('name'), settings, onBehalf(request));
    return {};
  },
};
