// Elections: one leader among several copies of a program.
import { isDeepStrictEqual } from 'node:util';
import type { Client, OwnSession } from './client.js';
import { now } from './clock.js';
import { LostError, TenureError } from './errors.js';
import type { Guard, Hold } from './guard.js';
import { sleep } from './latest.js';
import type { Leader } from './leader.js';
import { leaderAfter, leaderOf } from './leader.js';
import { campaignBackoff } from './link/backoff.js';
import type { LockOptions } from './lock.js';
import { holderOf } from './model.js';
import type { Cancellable } from './options.js';
import { positive } from './options.js';
import { firstOf } from './run.js';

/** A loop that waits for its next body tells that it goes on, so many times before it would count as stalled ... */
const TICKS_WHILE_WAITING = 3;
/** ... but not oftener than this. */
const SHORTEST_TICK_MS = 1;

/** A candidate: its session, and its claim. */
export type ElectionOptions = OwnSession & Pick<LockOptions, 'priority' | 'metadata' | 'minHoldMs' | 'stallAfterMs'>;

/**
 * What a leader does. The signal fires when it should stop: the leadership is lost or is to be handed over, or the candidate
 * stops. Heed it: the next term begins, and a handoff is confirmed, only when the body has ended.
 */
export type LeaderBody = (hold: Hold, signal: AbortSignal) => Promise<void> | void;

/** One candidate's part in an election. The leader is whoever holds the lock of the election's name. */
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
   * Campaigns, runs `body` while this candidate leads, and so on for ever: after a loss, and when the body has ended (it then
   * resigns). Each term has a new token. When the server asks for a handoff, the body may go on until the drain is nearly
   * over; then its signal fires, and when it has ended this candidate resigns, which confirms the handoff.
   *
   * Ends only by rejecting: with the signal's reason, having resigned; with what the body throws, likewise; with what trying
   * again cannot cure: `InvalidError`, `ClosedError`, and refusals other than those of a passing outage.
   */
  async lead(body: LeaderBody, { signal }: Cancellable = {}): Promise<never> {
    const backoff = campaignBackoff();
    for (;;) {
      signal?.throwIfAborted();
      let guard: Guard;
      try {
        guard = await this.campaign({ signal });
      } catch (error) {
        if (error instanceof TenureError && (error.isTransient || (error instanceof LostError && !this.isClosed))) {
          await sleep(backoff.nextPause(), signal);
          continue;
        }
        throw error;
      }
      backoff.reset();
      await term(guard, body, signal);
    }
  }

  /**
   * Runs `body` at once on leading, and then every `periodMs` while this candidate leads; campaigns again after a loss. A body
   * that takes longer delays the next. With `stallAfterMs`, that is how long one body may take. When the server asks for a
   * handoff, the body that runs may come to its end within the drain, and no other begins. Ends as `lead` does.
   */
  async leadEvery(periodMs: number, body: LeaderBody, options?: Cancellable): Promise<never> {
    positive('periodMs', periodMs);
    const often = Math.max((this.options.stallAfterMs ?? Infinity) / TICKS_WHILE_WAITING, SHORTEST_TICK_MS);
    return this.lead(async (hold, signal) => {
      // Between two bodies there is nothing to drain.
      const asked = new AbortController();
      hold.transferRequested({ signal }).then(() => asked.abort(), nothing);
      const [stop, unlisten] = firstOf(signal, asked.signal);
      try {
        // The process may have been paused since the last look.
        while (!stop.aborted && hold.isValid) {
          const begun = now();
          await body(hold, signal);
          await pause(hold, begun + periodMs, often, stop);
        }
      } finally {
        unlisten();
      }
    }, options);
  }

  /** Who leads now. */
  async leader(options?: Cancellable): Promise<Leader | undefined> {
    return leaderOf(holderOf(await this.client.getLock(this.name, options)));
  }

  /** Who leads, now and after each change; undefined while nobody does. Goes on by itself after failures. */
  async *observe(options?: Cancellable): AsyncGenerator<Leader | undefined, void, undefined> {
    let told: { leader: Leader | undefined } | undefined;
    for await (const item of this.client.watch({ names: [this.name] }, options)) {
      let leader = told?.leader;
      if (item.kind === 'snapshot') {
        const lock = item.locks.find(({ name }) => name === this.name);
        leader = leaderOf(lock && holderOf(lock));
      } else if (item.kind === 'events') {
        leader = item.events.reduce(leaderAfter, leader);
      } else {
        continue;
      }
      if (told === undefined || !isDeepStrictEqual(told.leader, leader)) {
        told = { leader };
        yield leader;
      }
    }
  }

  private get isClosed(): boolean {
    return this.client.link.isClosed;
  }
}

/** One term, until its body has ended. */
async function term(guard: Guard, body: LeaderBody, signal: AbortSignal | undefined): Promise<void> {
  const drained = new AbortController();
  const over = new AbortController();
  drain(guard, over.signal).then(() => drained.abort(), nothing);
  const [stop, unlisten] = firstOf(guard.signal, drained.signal, signal);
  try {
    await body(guard.hold, stop);
  } catch (error) {
    // What a body throws that was told to stop is its way to stop.
    if (!stop.aborted) {
      throw error;
    }
  } finally {
    over.abort();
    unlisten();
    await guard[Symbol.asyncDispose]();
  }
}

/** Waits until the server has asked for a handoff and its drain is nearly over. */
async function drain(guard: Guard, signal: AbortSignal): Promise<void> {
  const asked = await guard.transferRequested({ signal });
  while (asked.remainingMs > 0) {
    await sleep(asked.remainingMs, signal);
  }
}

/** Waits for the next body's time. To wait is no stall, however long the period is. */
async function pause(hold: Hold, until: number, often: number, signal: AbortSignal): Promise<void> {
  hold.tick();
  for (let left = until - now(); left > 0 && !signal.aborted; left = until - now()) {
    await sleep(Math.min(left, often), signal).catch(nothing);
    hold.tick();
  }
}

function nothing(): void {
  // There is nothing to do.
}
