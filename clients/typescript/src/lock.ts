// Asking for locks.
import type { AcquireSpec } from './engine/claim.js';
import { InvalidError, UnavailableError } from './errors.js';
import type { Hold } from './guard.js';
import { Guard } from './guard.js';
import type { Claim, Metadata } from './model.js';
import type { Cancellable } from './options.js';
import { duration, positive } from './options.js';
import { runUnder } from './run.js';
import type { Session } from './session.js';

/** What to ask for, and how. Durations are milliseconds. */
export interface LockOptions {
  /**
   * Shares the locks with others who ask for them shared: readers, as against a writer. A writer that waits lets no later
   * reader pass. Default: exclusive.
   */
  shared?: boolean;
  /** Takes so many permits of each lock (1 to 1,000,000) out of the lock's limit: a semaphore. Default: exclusive. */
  permits?: number;
  /**
   * The limit of permits that this program goes by (1 to 1,000,000): refused if the lock has another one. Takes one permit
   * unless `permits` says how many. Default: whatever the lock's limit is.
   */
  limit?: number;
  /** Higher goes first among waiters: -1000 to 1000. Default: 0. */
  priority?: number;
  /** Free labels on the claim: at most 4096 bytes. Default: none. */
  metadata?: Metadata;
  /** For at least this long after the grant nobody is granted these locks again: at most 24 h. Default: 0. */
  minHoldMs?: number;
  /**
   * Renews the session only while the work under the hold makes progress: while the grant, or the last `tick` of the hold, is
   * less than this ago. More than 0. Work that hangs so loses its locks, and what else the session holds, within this and the
   * TTL together. Default: renewed while the client runs.
   */
  stallAfterMs?: number;
}

/** What came of a try. */
export type Attempt =
  | { acquired: true; guard: Guard }
  /** Somebody else has the locks: who holds, or waits ahead for, the first of the names that was not free. */
  | { acquired: false; guard?: undefined; holder: Claim | undefined };

/** What came of `tryRun`. */
export type Ran<T> = { ran: true; value: T } | { ran: false; value?: undefined; holder: Claim | undefined };

/** What runs while a lock is held. The signal fires when it should stop: the hold is lost, or the call was given up. */
export type Body<T> = (hold: Hold, signal: AbortSignal) => Promise<T> | T;

/** The session to ask in, which for its own sake may have to be opened first. */
export type Place = (signal: AbortSignal | undefined) => Promise<{ session: Session; isOwn: boolean }>;

/**
 * Asks for locks, once per call. Calls for the same name in the same session queue up in the client, in order of arrival. All
 * reject with `LostError` if the session was lost meanwhile, `RefusedError`, `UnavailableError`, `InvalidError`, or the
 * signal's reason: then what was or is being granted is given back in the background.
 */
export class LockRequest {
  /** @internal */
  constructor(
    private readonly place: Place,
    private readonly names: readonly string[],
    private readonly options: LockOptions,
  ) {}

  /** Waits for the locks, for as long as it takes. */
  async acquire({ signal }: Cancellable = {}): Promise<Guard> {
    const attempt = await this.ask(undefined, signal);
    if (!attempt.acquired) {
      throw new UnavailableError('the wait was ended by the server');
    }
    return attempt.guard;
  }

  /** Tries once. That somebody else holds the locks is no error. */
  tryAcquire({ signal }: Cancellable = {}): Promise<Attempt> {
    return this.ask(0, signal);
  }

  /** Waits for the locks, at most this many milliseconds (at most 365 days). */
  acquireWithin(waitMs: number, { signal }: Cancellable = {}): Promise<Attempt> {
    return this.ask(waitMs, signal);
  }

  /**
   * Waits for the locks, runs `body` while they are held, and gives them back.
   *
   * If the hold is lost meanwhile, the body's signal fires before the server could give the locks to others, and this rejects
   * with `LostError` at once. Nothing stops a body that does not heed its signal. An error in giving back is not told: the
   * body did run under the lock.
   */
  async run<T>(body: Body<T>, { signal }: Cancellable = {}): Promise<T> {
    return runUnder(await this.acquire({ signal }), body, signal);
  }

  /** Tries once; if the locks are free, runs `body` as `run` does. */
  async tryRun<T>(body: Body<T>, { signal }: Cancellable = {}): Promise<Ran<T>> {
    const attempt = await this.tryAcquire({ signal });
    if (!attempt.acquired) {
      return { ran: false, holder: attempt.holder };
    }
    return { ran: true, value: await runUnder(attempt.guard, body, signal) };
  }

  private async ask(waitMs: number | undefined, signal: AbortSignal | undefined): Promise<Attempt> {
    const spec = checkedSpec(this.names, this.options);
    if (waitMs !== undefined) {
      duration('waitMs', waitMs);
    }
    const { session, isOwn } = await this.place(signal);
    try {
      const { claim, outcome } = await session.link.acquire(session.live, spec, waitMs, signal);
      if (outcome.hold !== undefined) {
        return { acquired: true, guard: new Guard(session, claim, outcome.hold, isOwn) };
      }
      if (isOwn) {
        session.drop();
      }
      return { acquired: false, holder: outcome.holder };
    } catch (error) {
      if (isOwn) {
        session.drop();
      }
      throw error;
    }
  }
}

/** The server checks all bounds; here is checked what the local queue and the conversions rely on. */
function checkedSpec(names: readonly string[], options: LockOptions): AcquireSpec {
  const { shared = false, permits, limit, priority = 0, metadata = {}, minHoldMs = 0, stallAfterMs } = options;
  const sorted = [...names].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  if (sorted.length === 0) {
    throw new InvalidError('names', 'there are none');
  }
  const twice = sorted.find((name, place) => name === sorted[place + 1]);
  if (twice !== undefined) {
    throw new InvalidError('names', `"${twice}" is there twice`);
  }
  const isCounted = permits !== undefined || limit !== undefined;
  if (shared && isCounted) {
    throw new InvalidError('shared', 'permits are no shared hold');
  }
  for (const [field, number] of Object.entries({ permits: permits ?? 1, limit: limit ?? 1, priority })) {
    if (!Number.isInteger(number) || (field !== 'priority' && number < 1)) {
      throw new InvalidError(field, 'it is out of bounds');
    }
  }
  return {
    names: sorted,
    mode: shared ? 'shared' : isCounted ? 'permits' : 'exclusive',
    permits: isCounted ? (permits ?? 1) : 0,
    limit: limit ?? 0,
    priority,
    metadata,
    minHoldMs: duration('minHoldMs', minHoldMs),
    stallAfterMs: stallAfterMs === undefined ? undefined : positive('stallAfterMs', stallAfterMs),
  };
}
