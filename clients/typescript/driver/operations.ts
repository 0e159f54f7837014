// Operators' calls.
import { toWire } from 'tenure-client';
import type { Handler, Request } from './request.js';
import { clientsByName } from './sessions.js';
import { lockToWire } from './watches.js';

function onBehalf(request: Request) {
  return {
    name: request.text('name'),
    operator: request.get<string>('operator') ?? '',
    note: request.get<string>('note') ?? '',
    token: request.revision('token') ?? 0n,
  };
}

function duration(milliseconds: number | undefined) {
  return milliseconds === undefined ? undefined : toWire(milliseconds);
}

export const operations: Record<string, Handler> = {
  get_lock: async (request) => {
    const { signal } = request;
    return lockToWire(await clientsByName.get(request).getLock(request.text('name'), { signal }));
  },
  evict: async (request) => {
    const { signal } = request;
    await clientsByName.get(request).evict(onBehalf(request), { signal });
    return {};
  },
  transfer: async (request) => {
    const { signal } = request;
    const asked = { toSessionId: request.get<string>('to') ?? '', drain: duration(request.get('drain_ms')) };
    const { token } = await clientsByName.get(request).transfer({ ...onBehalf(request), ...asked }, { signal });
    return { token };
  },
  configure_lock: async (request) => {
    const { signal } = request;
    const { settling_ms, drain_ms } = request.get<{ settling_ms?: number; drain_ms?: number }>('preempt') ?? {};
    const preempt = { settling: duration(settling_ms), drain: duration(drain_ms) };
    const settings = {
      limit: request.get<number>('limit') ?? 0,
      preempt: request.has('preempt') ? preempt : undefined,
    };
    const { name, operator, note } = onBehalf(request);
    await clientsByName.get(request).configureLock({ name, operator, note, settings }, { signal });
    return {};
  },
};
