// Locks: guards, and bodies that run under a lock.
import { type Attempt, fromWire, type Guard, type Hold, type LockRequest, type Metadata, type v1 } from 'tenure-client';
import type { Handler, Request } from './request.js';
import { Things } from './request.js';
import { ownSession, place } from './sessions.js';
import { DriverError, lostToWire } from './wire.js';

const guardsByName = new Things<Guard>('guard');
const runsByName = new Things<BodyRun>('run');

const LOCK_OPTIONS = {
  permits: 'permits',
  limit: 'limit',
  priority: 'priority',
  metadata: 'metadata',
  min_hold_ms: 'minHoldMs',
  stall_after_ms: 'stallAfterMs',
};

function lockRequest(request: Request): LockRequest {
  const shared = request.get('mode') === 'shared' ? { shared: true } : {};
  const options = { ...request.options(LOCK_OPTIONS), ...shared };
  return place(request).locks(request.need('names') as string[], { ...options, ...ownSession(request) });
}

async function acquire(request: Request): Promise<Attempt> {
  const asked = lockRequest(request);
  const { signal } = request;
  const waitMs = request.get<number>('wait_ms');
  if (waitMs === undefined) {
    return { acquired: true, guard: await asked.acquire({ signal }) };
  }
  return waitMs === 0 ? asked.tryAcquire({ signal }) : asked.acquireWithin(waitMs, { signal });
}

function holderToWire(claim: v1.Claim | undefined): object | undefined {
  return claim && { session_id: claim.sessionId, owner: claim.owner, token: claim.token || undefined };
}

/** A body that waits to be let go. */
class BodyRun {
  readonly begun: Promise<Hold>;
  readonly body: (hold: Hold, signal: AbortSignal) => Promise<bigint>;
  finish: () => void = () => undefined;

  constructor() {
    const finished = new Promise<void>((resolve) => (this.finish = resolve));
    let begin: (hold: Hold) => void = () => undefined;
    this.begun = new Promise((resolve) => (begin = resolve));
    this.body = async (hold, signal) => {
      begin(hold);
      await Promise.race([finished, cancelled(signal)]);
      return hold.token;
    };
  }
}

/** Rejects when the signal fires. */
export function cancelled(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) {
      stop();
    }
  });
}

async function run(request: Request): Promise<object> {
  const run = new BodyRun();
  runsByName.set(request, run);
  const asked = lockRequest(request);
  const { signal } = request;
  const waitMs = request.get<number>('wait_ms');
  if (waitMs === undefined) {
    return { ran: true, token: await asked.run(run.body, { signal }) };
  }
  if (waitMs !== 0) {
    throw new DriverError('a run waits for ever or tries once');
  }
  const tried = await asked.tryRun(run.body, { signal });
  return tried.ran ? { ran: true, token: tried.value } : { ran: false, holder: holderToWire(tried.holder) };
}

export const locks: Record<string, Handler> = {
  acquire: async (request) => {
    const attempt = await acquire(request);
    if (!attempt.acquired) {
      return { acquired: false, holder: holderToWire(attempt.holder) };
    }
    guardsByName.set(request, attempt.guard);
    const { token, names, session } = attempt.guard;
    return { acquired: true, token, names, session_id: session.id };
  },
  hold: (request) => {
    const { isValid, token, lostReason } = guardsByName.get(request);
    return { valid: isValid, token, lost: lostToWire(lostReason) };
  },
  await_lost: async (request) => {
    const { signal } = request;
    return { lost: lostToWire(await guardsByName.get(request).lost({ signal })) };
  },
  tick: (request) => {
    guardsByName.get(request).tick();
    return {};
  },
  release: async (request) => {
    await guardsByName.get(request).release();
    return {};
  },
  drop: (request) => {
    guardsByName.get(request).drop();
    return {};
  },
  update: async (request) => {
    const { signal } = request;
    await guardsByName.get(request).updateMetadata(request.need('metadata') as Metadata, { signal });
    return {};
  },
  transfer_to: async (request) => ({
    token: await guardsByName.get(request).transferTo(request.get<string>('session_id')),
  }),
  await_transfer: async (request) => {
    const { signal } = request;
    const { drain, operator, note } = (await guardsByName.get(request).transferRequested({ signal })).pending;
    return { drain_ms: fromWire(drain), operator: operator || undefined, note: note || undefined };
  },
  run,
  await_body: async (request) => ({ token: (await runsByName.get(request).begun).token }),
  finish: (request) => {
    runsByName.get(request).finish();
    return {};
  },
};
