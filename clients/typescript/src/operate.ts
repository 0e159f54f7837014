// What anybody may ask of locks and sessions, and an operator's means: each a plain call.
import type { CallOptions } from './calls.js';
import { call, pages } from './calls.js';
import { claimOf, fromWire, historyEntryOf, lockOf, sessionOf, settingsToWire, toWire } from './convert.js';
import { LockServiceService as locks } from './generated/tenure/v1/lock.js';
import { SessionServiceService as sessions } from './generated/tenure/v1/session.js';
import type { Method } from './link/connection.js';
import type { Link } from './link/link.js';
import type { BlockedClaim, Claim, HistoryEntry, Lock, LockSettings, Metadata, SessionInfo } from './model.js';
import type { Cancellable } from './options.js';

/** How long a holder may go on if a transfer does not say: the contract's. */
const DEFAULT_DRAIN_MS = 10_000;

/** How to evict a holder. */
export interface EvictOptions extends Cancellable {
  /** On whose behalf, for history: 1 to 255 bytes. */
  operator: string;
  /** Why, for history: at most 255 bytes. Default: empty. */
  note?: string;
  /** Only the hold with this token. Default: whoever holds the lock. */
  token?: bigint;
}

/** How to hand over a lock that somebody else holds. */
export interface TransferOptions extends EvictOptions {
  /** To this session, which must be waiting for the lock. Default: to whoever is first in the queue. */
  to?: string;
  /** For how long the holder may go on, to stop its work: 100 ms to 1 h. Default: 10 s. */
  drainMs?: number;
}

/** On whose behalf something is set. */
export interface ConfigureOptions extends Cancellable {
  /** For history: 1 to 255 bytes. */
  operator: string;
  /** Why, for history: at most 255 bytes. Default: empty. */
  note?: string;
}

/** The calls that are asked of any server. All reject with `RefusedError`, `UnavailableError` or `ClosedError`. */
export abstract class Operations {
  /** @internal */
  abstract readonly link: Link;

  /** @internal */
  ask<Q extends { namespace: string }, A>(
    method: Method<Q, A>,
    request: Omit<Q, 'namespace'>,
    options: CallOptions,
  ): Promise<A> {
    return call(this.link, method, { namespace: this.link.namespace, ...request } as Q, options);
  }

  private list<
    Q extends { namespace: string; pageSize: number; pageToken: string },
    A extends { nextPageToken: string },
    T,
  >(
    method: Method<Q, A>,
    request: Omit<Q, 'namespace' | 'pageSize' | 'pageToken'>,
    items: (page: A) => T[],
    { signal }: Cancellable = {},
  ): AsyncGenerator<T, void, undefined> {
    return pages(async (pageToken) => {
      const asked = { ...request, pageSize: 0, pageToken } as unknown as Omit<Q, 'namespace'>;
      const page = await this.ask(method, asked, { isSafe: true, signal });
      return { items: items(page), nextPageToken: page.nextPageToken };
    });
  }

  /** Reads one lock. A lock that nobody ever asked for is an idle lock, not an error. */
  async getLock(name: string, { signal }: Cancellable = {}): Promise<Lock> {
    const { lock } = await this.ask(locks.getLock, { name }, { isSafe: true, signal });
    return lock ? lockOf(lock) : { name, holders: [], waiters: [], holderCount: 0n, waiterCount: 0n, settings: {} };
  }

  /** The locks that are held or waited for and whose names begin with `prefix` (empty: all), in byte order. */
  listLocks(prefix = '', options?: Cancellable): AsyncGenerator<Lock, void, undefined> {
    return this.list(locks.listLocks, { prefix }, (page) => page.locks.map(lockOf), options);
  }

  /** Who held a lock: the holds that last first, then those that are over, what ended last first. */
  history(name: string, options?: Cancellable): AsyncGenerator<HistoryEntry, void, undefined> {
    const items = (page: { entries: Parameters<typeof historyEntryOf>[0][] }) =>
      page.entries.map(historyEntryOf).filter((entry) => entry !== undefined);
    return this.list(locks.listHistory, { name }, items, options);
  }

  /** The claims that wait, with those that they wait for; or only those in a deadlock. */
  listBlocked(deadlockedOnly = false, options?: Cancellable): AsyncGenerator<BlockedClaim, void, undefined> {
    const items = (page: {
      blocked: {
        claim?: Parameters<typeof claimOf>[0] | undefined;
        blockedBy: Parameters<typeof claimOf>[0][];
        truncated: boolean;
      }[];
    }) =>
      page.blocked.flatMap(({ claim, blockedBy, truncated }) =>
        claim === undefined ? [] : [{ claim: claimOf(claim), blockedBy: blockedBy.map(claimOf), truncated }],
      );
    return this.list(locks.listBlocked, { deadlockedOnly }, items, options);
  }

  /** Reads one open session, with as many of its claims as fit into 1 MiB. Refused with `SESSION_NOT_FOUND` or `SESSION_ENDED`. */
  async getSession(sessionId: string, { signal }: Cancellable = {}): Promise<SessionInfo> {
    const { session } = await this.ask(sessions.getSession, { sessionId, afterClaim: 0n }, { isSafe: true, signal });
    return sessionOf(session as NonNullable<typeof session>);
  }

  /** The open sessions, oldest first. */
  listSessions(options?: Cancellable): AsyncGenerator<SessionInfo, void, undefined> {
    return this.list(sessions.listSessions, {}, (page) => page.sessions.map(sessionOf), options);
  }

  /** Renews once a session that another program opened. Answers for how many milliseconds it lives at least, from asking. */
  async renew(sessionId: string, { signal }: Cancellable = {}): Promise<number> {
    const { ttl } = await this.ask(sessions.renew, { sessionId }, { isSafe: true, signal });
    return ttl === undefined ? 0 : fromWire(ttl);
  }

  /** Ends a session, by its id, and all that it holds and waits for. */
  async closeSession(sessionId: string, { signal }: Cancellable = {}): Promise<void> {
    await this.ask(sessions.closeSession, { sessionId, clientId: '' }, { isSafe: true, signal });
  }

  /** Gives back what a session holds, by a name and the token of the hold. For holds that no guard keeps. */
  async release(name: string, sessionId: string, token: bigint, { signal }: Cancellable = {}): Promise<void> {
    await this.ask(locks.release, { name, sessionId, token }, { isSafe: true, signal });
  }

  /** Replaces the labels of a hold, by a name and the token of the hold. */
  async updateClaim(
    name: string,
    sessionId: string,
    token: bigint,
    metadata: Metadata,
    { signal }: Cancellable = {},
  ): Promise<Claim | undefined> {
    const labels = new Map(Object.entries(metadata));
    const request = { name, sessionId, token, metadata: labels };
    const { claim } = await this.ask(locks.updateClaim, request, { isSafe: true, signal });
    return claim && claimOf(claim);
  }

  /** Ends the hold of a lock against its holder's will, and answers what was ended. Recorded in history. */
  async evict(name: string, options: EvictOptions): Promise<Claim[]> {
    const { operator, note = '', token = 0n, signal } = options;
    // Without a token a second try could evict the next holder.
    const call = { isSafe: token !== 0n, signal };
    const { evicted } = await this.ask(locks.evict, { name, token, operator, note }, call);
    return evicted.map(claimOf);
  }

  /**
   * Hands a lock over to a waiter: the holder is asked to stop, and confirms by releasing. Resolves when it is done, with the
   * new hold. There is no moment at which nobody holds the lock. Refused with `TRANSFER_IMPOSSIBLE`, `TRANSFER_PENDING` or
   * `TRANSFER_NOT_CONFIRMED`.
   */
  async transfer(name: string, options: TransferOptions): Promise<Claim | undefined> {
    const { operator, note = '', token = 0n, to = '', drainMs, signal } = options;
    const drain = drainMs === undefined ? undefined : toWire(drainMs);
    const request = { name, token, toSessionId: to, drain, operator, note, sessionId: '' };
    // Without a token a second try could make the next holder hand over.
    const call = { isSafe: token !== 0n, waitMs: drainMs ?? DEFAULT_DRAIN_MS, signal };
    const { claim } = await this.ask(locks.transfer, request, call);
    return claim && claimOf(claim);
  }

  /** Hands over what a session of this client holds. Answers the next token. @internal */
  async handOver(name: string, sessionId: string, token: bigint, to: string | undefined): Promise<bigint> {
    const request = { name, token, toSessionId: to ?? '', drain: undefined, operator: '', note: '', sessionId };
    return (await this.ask(locks.transfer, request, { isSafe: true })).token;
  }

  /** Sets what claims to a lock have to go by, in place of what was set before. Takes nothing from holders. */
  async configureLock(name: string, settings: LockSettings, options: ConfigureOptions): Promise<Lock | undefined> {
    const { operator, note = '', signal } = options;
    const request = { name, settings: settingsToWire(settings), operator, note };
    const { lock } = await this.ask(locks.configureLock, request, { isSafe: true, signal });
    return lock && lockOf(lock);
  }
}
