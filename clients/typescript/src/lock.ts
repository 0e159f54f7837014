// Acquires locks, and runs work only while they are held.
import { toWire } from './convert.js';
import { obtain, type Target } from './declare.js';
import { invalidIf, throwIfLost, UnavailableError } from './error.js';
import { Guard, type Hold } from './guard.js';
import { type Cancellable, duration, positive } from './options/client.js';
import type { Metadata } from './options/session.js';
import { type Claim, DeclaredClaim, Mode } from './v1.js';
import { firstOf } from './waiting.js';

/** What to request, and how. Durations are milliseconds. */
export interface LockOptions {
  /** Shares the locks with other shared requests. Later readers wait behind a waiting writer. Default: exclusive. */
  shared?: boolean;
  /** Acquires this number of permits of each lock (1 to 1,000,000), out of the lock's limit: a semaphore. Default: exclusive. */
  permits?: number;
  /**
   * The limit of permits that this program expects (1 to 1,000,000): rejected if the lock has another one. Acquires one permit,
   * unless `permits` sets another number. Default: the lock's limit; rejected if it has none.
   */
  limit?: number;
  /** The priority among waiters, higher first: -1000 to 1000. Default: 0. */
  priority?: number;
  /** Labels on the claim: at most 4096 bytes. Default: none. */
  metadata?: Metadata;
  /** For at least this long after the grant, no claim is granted these locks again: at most 24 h. Default: 0. */
  minHoldMs?: number;
  /**
   * Renews the session only while the work under the hold makes progress: while the grant, or the last `tick` of the hold, is less
   * than this ago. Hung work loses its locks within this and the TTL together, and the session its other holds. More than 0.
   * Default: renewed while the client runs.
   */
  stallAfterMs?: number;
}

/** The result of a request that need not wait. */
export type Attempt =
  | { acquired: true; guard: Guard }
  /** Another claim holds the locks, or is ahead in the queue. */
  | { acquired: false; guard?: undefined; holder: Claim | undefined };

/** The result of `tryRun`. */
export type Ran<T> = { ran: true; value: T } | { ran: false; value?: undefined; holder: Claim | undefined };

/** What runs while a lock is held. The signal fires when it should stop: the hold is lost, or the call was cancelled. */
export type Body<T> = (hold: Hold, signal: AbortSignal) => Promise<T> | T;

/**
 * A request for locks, made anew by each call. All reject with `LostError` if the session was lost meanwhile, `RefusedError`,
 * `UnavailableError`, `InvalidError`, or the signal's reason: then nothing remains at the server.
 */
export class LockRequest {
  /** @internal */
  constructor(
    private readonly target: Target,
    private readonly names: readonly string[],
    private readonly options: LockOptions,
  ) {}

  /** Waits for the locks, for as long as it takes. */
  async acquire({ signal }: Cancellable = {}): Promise<Guard> {
    const { guard } = await this.request(undefined, signal);
    if (!guard) {
      throw new UnavailableError('the wait was ended by the server');
    }
    return guard;
  }

  /** Makes one attempt. Locks held by another claim are no error. */
  tryAcquire({ signal }: Cancellable = {}): Promise<Attempt> {
    return this.request(0, signal);
  }

  /** Waits for the locks, at most this many milliseconds. Locks that another claim still holds then are no error. */
  acquireWithin(waitMs: number, { signal }: Cancellable = {}): Promise<Attempt> {
    return this.request(waitMs, signal);
  }

  /**
   * Waits for the locks, runs `body` while they are held, and releases them.
   *
   * If the hold is lost meanwhile, the body's signal fires before the server could grant the locks to others, and this rejects with
   * `LostError` at once; a body that ignores its signal continues. An error of the release is ignored: the body did run under the
   * lock.
   */
  async run<T>(body: Body<T>, { signal }: Cancellable = {}): Promise<T> {
    return runUnder(await this.acquire({ signal }), body, signal);
  }

  /** Makes one attempt; if the locks are free, runs `body` as `run` does. */
  async tryRun<T>(body: Body<T>, { signal }: Cancellable = {}): Promise<Ran<T>> {
    const attempt = await this.tryAcquire({ signal });
    if (!attempt.acquired) {
      return { ran: false, holder: attempt.holder };
    }
    return { ran: true, value: await runUnder(attempt.guard, body, signal) };
  }

  private async request(waitMs: number | undefined, signal: AbortSignal | undefined): Promise<Attempt> {
    const claim = claimToDeclare(this.names, this.options);
    claim.queue = waitMs === undefined || duration('waitMs', waitMs) > 0;
    const { stallAfterMs } = this.options;
    const obtained = await obtain(this.target, { claims: [claim] }, { stallAfterMs, waitMs, signal });
    if (!obtained.part) {
      return { acquired: false, holder: obtained.busy.holder };
    }
    return { acquired: true, guard: new Guard(obtained.part, claim.names, obtained.number) };
  }
}

/** Checks what no request is needed for; the server checks all bounds. */
function claimToDeclare(names: readonly string[], options: LockOptions): DeclaredClaim {
  const { shared = false, permits, limit, priority = 0, metadata = {}, minHoldMs = 0, stallAfterMs } = options;
  const sorted = [...names].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  invalidIf(sorted.length === 0, 'names', 'there are none');
  const twice = sorted.find((name, index) => name === sorted[index + 1]);
  invalidIf(twice !== undefined, 'names', `"${twice}" is there twice`);
  const isCounted = permits !== undefined || limit !== undefined;
  invalidIf(shared && isCounted, 'shared', 'permits are not shared');
  for (const [field, number] of Object.entries({ permits: permits ?? 1, limit: limit ?? 1, priority })) {
    invalidIf(
      !Number.isInteger(number) || Math.abs(number) >= 2 ** 31 || (field !== 'priority' && number < 1),
      field,
      'it is out of bounds',
    );
  }
  positive('stallAfterMs', stallAfterMs ?? 1);
  return DeclaredClaim.fromPartial({
    names: sorted,
    mode: shared ? Mode.SHARED : isCounted ? Mode.PERMITS : Mode.EXCLUSIVE,
    permits,
    limit,
    priority,
    metadata,
    minHold: toWire(duration('minHoldMs', minHoldMs)),
  });
}

/** Runs `body` until it ends or the hold is lost, and releases the hold. `signal` asks the body to stop; its end is waited for. */
async function runUnder<T>(guard: Guard, body: Body<T>, signal: AbortSignal | undefined): Promise<T> {
  const [stop, stopListening] = firstOf(guard.signal, signal);
  const work = (async () => body(guard, stop))();
  // After a loss, the outcome of the body has no receiver.
  work.catch(() => undefined).finally(stopListening);
  await Promise.race([guard.lost(), work.catch(() => undefined)]);
  throwIfLost(guard.lostReason);
  await guard[Symbol.asyncDispose]();
  return work;
}
