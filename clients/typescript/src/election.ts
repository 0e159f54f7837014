// Elections: one leader among several copies of a program.
import { isDeepStrictEqual } from 'node:util';
import { holderOf } from './calls.js';
import type { Client, OwnSession } from './client.js';
import { now } from './clock.js';
import { LostError, TenureError } from './error.js';
import type { Guard, Hold } from './guard.js';
import type { LockOptions } from './lock.js';
import { type Cancellable, positive } from './options/client.js';
import { type Claim, type Event, EventType } from './v1.js';
import { Backoff, firstOf, sleep } from './waiting.js';

/** A loop that waits for its next body reports progress this number of times before it would count as stalled ... */
const TICKS_WHILE_WAITING = 3;
/** ... and the shortest interval of these reports. */
const SHORTEST_TICK_MS = 1;

/** A candidate: its session, and its claim. `stallAfterMs` is about the leader's work. */
export type ElectionOptions = OwnSession & Pick<LockOptions, 'priority' | 'metadata' | 'minHoldMs' | 'stallAfterMs'>;

/**
 * What a leader does. The signal fires when it should stop: the leadership is lost or is to be handed over, or the candidate stops.
 * The next term begins, and a handoff is confirmed, only when the body has ended.
 */
export type LeaderBody = (hold: Hold, signal: AbortSignal) => Promise<void> | void;

/** A candidacy in an election. The leader is the holder of the lock of the election's name. */
export class Election {
  /** @internal */
  constructor(
    private readonly client: Client,
    /** The election's name. */
    readonly name: string,
    private readonly options: ElectionOptions,
  ) {}

  /** Waits until this candidate leads, for one term: it resigns by releasing the guard. */
  campaign(options?: Cancellable): Promise<Guard> {
    return this.client.lock(this.name, this.options).acquire(options);
  }

  /**
   * Campaigns, runs `body` while this candidate leads, and repeats this after a loss, and when the body has ended (the candidate then
   * resigns). Each term has a new token. When the server asks for a handoff, the body may continue until the drain is nearly over; then
   * its signal fires, and when it has ended this candidate resigns, which confirms the handoff.
   *
   * Ends only by rejecting: with the signal's reason or what the body throws, having resigned; and with errors that a retry cannot fix:
   * `InvalidError`, `ClosedError`, and rejections other than those of a temporary outage.
   */
  async lead(body: LeaderBody, { signal }: Cancellable = {}): Promise<never> {
    const backoff = Backoff.ofRoles();
    for (;;) {
      let guard: Guard;
      try {
        guard = await this.campaign({ signal });
      } catch (error) {
        if (error instanceof TenureError && (error.isTransient || error instanceof LostError)) {
          await sleep(backoff.nextPause(), signal);
          continue;
        }
        throw error;
      }
      backoff.reset();
      await term(guard, body, signal);
      signal?.throwIfAborted();
    }
  }

  /**
   * Runs `body` at the start of each term, and then every `periodMs` while this candidate leads; campaigns again after a loss. A body
   * that takes longer than the period delays the next. With `stallAfterMs`, that is the longest time for one body. When the server asks
   * for a handoff, the running body may end within the drain, and no other begins. Ends as `lead` does.
   */
  async leadEvery(periodMs: number, body: LeaderBody, options?: Cancellable): Promise<never> {
    positive('periodMs', periodMs);
    const often = Math.max((this.options.stallAfterMs ?? Infinity) / TICKS_WHILE_WAITING, SHORTEST_TICK_MS);
    return this.lead(async (hold, signal) => {
      // Between two bodies there is nothing to drain. The process may have been paused since the last check.
      const mayBegin = () => !signal.aborted && hold.isValid && !hold.transferRequest;
      while (mayBegin()) {
        const next = now() + periodMs;
        await body(hold, signal);
        // Waiting is no stall, however long the period is.
        hold.tick();
        while (now() < next && mayBegin()) {
          await hold.item.changed(Math.min(next, now() + often), signal).catch(nothing);
          hold.tick();
        }
      }
    }, options);
  }

  /** The claim of the current leader. */
  async leader(options?: Cancellable): Promise<Claim | undefined> {
    return holderOf(await this.client.getLock(this.name, options));
  }

  /** The claim of the leader, now and after each change; undefined while there is no leader. Continues by itself after failures. */
  async *observe(options?: Cancellable): AsyncGenerator<Claim | undefined, void, undefined> {
    let leader: Claim | undefined;
    let last: { leader: Claim | undefined } | undefined;
    for await (const { kind } of this.client.watch({ names: [this.name] }, options)) {
      if (kind?.$case === 'snapshot') {
        const lock = kind.value.locks.find(({ name }) => name === this.name);
        leader = lock && holderOf(lock);
      } else if (kind?.$case === 'events') {
        leader = kind.value.events.reduce(leaderAfter, leader);
      } else {
        continue;
      }
      if (!last || !isDeepStrictEqual(last.leader, leader)) {
        last = { leader };
        yield leader;
      }
    }
  }
}

function leaderAfter(leader: Claim | undefined, { type, claim }: Event): Claim | undefined {
  switch (type) {
    case EventType.GRANTED:
    case EventType.TRANSFERRED:
    case EventType.UPDATED:
      return claim;
    case EventType.ENDED:
    case EventType.LINGERING:
      // The end of a waiter's claim changes nothing.
      return leader?.token === claim?.token ? undefined : leader;
    default:
      return leader;
  }
}

/** One term, until its body has ended. */
async function term(guard: Guard, body: LeaderBody, signal: AbortSignal | undefined): Promise<void> {
  const drained = new AbortController();
  drain(guard).then(() => drained.abort(), nothing);
  const [stop, stopListening] = firstOf(guard.signal, drained.signal, signal);
  try {
    await body(guard, stop);
  } catch (error) {
    // A body that is to stop may end by throwing.
    if (!stop.aborted) {
      throw error;
    }
  } finally {
    stopListening();
    await guard[Symbol.asyncDispose]();
  }
}

/** Waits until the server has asked for a handoff and its drain is nearly over. Rejects at the end of the hold. */
async function drain(guard: Guard): Promise<void> {
  const { signal } = guard;
  const request = await guard.transferRequested({ signal });
  while (request.remainingMs > 0) {
    await sleep(request.remainingMs, signal);
  }
}

function nothing(): void {
  // The outcome is irrelevant.
}
