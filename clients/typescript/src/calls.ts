// Plain calls beside the stream: reads, and the actions of operators.
import { call, type CallOptions } from './connection/call.js';
import type { Connection } from './connection/connection.js';
import { fromWire } from './convert.js';
import type { Cancellable } from './options/client.js';
import type { ReplyOf, RequestOf, Service } from './transport/method.js';
import {
  type Claim,
  ClaimState,
  type ConfigureLockRequest,
  type EvictRequest,
  Group,
  GroupServiceDefinition,
  type HistoryEntry,
  Lock,
  LockServiceDefinition,
  type Session,
  SessionServiceDefinition,
  type TransferRequest,
} from './v1.js';

/** The contract's default of `TransferRequest.drain`. */
const DEFAULT_DRAIN_MS = 10_000;

/** The first holder of a lock, if there is one. */
export function holderOf(lock: Lock): Claim | undefined {
  return lock.holders.find(({ state }) => state === ClaimState.HELD);
}

/**
 * Calls of any server. Requests and replies are the contract's messages; the namespace of a request is the client's. All reject
 * with `RefusedError`, `UnavailableError` or `ClosedError`.
 */
export abstract class Calls {
  /** @internal */
  abstract readonly connection: Connection;

  /**
   * Makes any call of the contract, such as `client.call(v1.SessionServiceDefinition, 'getSession', { sessionId })`. It is repeated,
   * if necessary at other servers, until its deadline.
   */
  call<S extends Service, M extends keyof S['methods'] & string>(
    service: S,
    method: M,
    request: Partial<RequestOf<S, M>>,
    options?: CallOptions,
  ): Promise<ReplyOf<S, M>> {
    return call(this.connection, service, method, request, options);
  }

  /** Reads one lock. A lock that was never requested is an idle lock, not an error. */
  async getLock(name: string, options?: Cancellable): Promise<Lock> {
    return (await this.call(LockServiceDefinition, 'getLock', { name }, options)).lock ?? Lock.fromPartial({ name });
  }

  /**
   * The locks that are held or waited for and whose names begin with `prefix` (empty: all), in byte order. Requested page by page, as
   * all lists; each page is consistent at a revision of its own.
   */
  listLocks(prefix = '', options?: Cancellable): AsyncGenerator<Lock, void, undefined> {
    const read = (pageToken: string) => this.call(LockServiceDefinition, 'listLocks', { prefix, pageToken }, options);
    return pages(read, (page) => page.locks);
  }

  /** The holds of a lock, as far back as history is kept: current holds first, then ended ones, the last end first. */
  history(name: string, options?: Cancellable): AsyncGenerator<HistoryEntry, void, undefined> {
    const read = (pageToken: string) => this.call(LockServiceDefinition, 'listHistory', { name, pageToken }, options);
    return pages(read, (page) => page.entries);
  }

  /** The open sessions, oldest first. */
  listSessions(options?: Cancellable): AsyncGenerator<Session, void, undefined> {
    const read = (pageToken: string) => this.call(SessionServiceDefinition, 'listSessions', { pageToken }, options);
    return pages(read, (page) => page.sessions);
  }

  /** Ends every hold of a lock against its holder's will, or only that with the `token` of the request. Returns the ended claims. */
  async evict(request: Partial<EvictRequest>, options?: Cancellable): Promise<Claim[]> {
    // Without a token a second attempt could evict the next holder.
    const isSafe = !!request.token;
    return (await this.call(LockServiceDefinition, 'evict', request, { ...options, isSafe })).evicted;
  }

  /**
   * Hands a lock over to a waiter: the holder is asked to stop, and confirms by releasing. Returns the new hold when the handoff is
   * complete; the lock has a holder at every moment. Rejected with `TRANSFER_IMPOSSIBLE`, `TRANSFER_PENDING`, or
   * `TRANSFER_NOT_CONFIRMED` if the holder did not stop in time, and keeps the lock.
   */
  async transfer(request: Partial<TransferRequest>, options?: Cancellable): Promise<Claim> {
    const waitMs = request.drain ? fromWire(request.drain) : DEFAULT_DRAIN_MS;
    // Without a token a second attempt could make the next holder hand over.
    const isSafe = !!request.token;
    return (await this.call(LockServiceDefinition, 'transfer', request, { ...options, isSafe, waitMs })).claim!;
  }

  /** Sets the settings of a lock, in place of the previous ones. Holders keep what they hold. */
  async configureLock(request: Partial<ConfigureLockRequest>, options?: Cancellable): Promise<Lock> {
    return (await this.call(LockServiceDefinition, 'configureLock', request, options)).lock!;
  }

  /** Reads one group. A group that was never joined is an empty group, not an error. */
  async getGroup(group: string, options?: Cancellable): Promise<Group> {
    const reply = await this.call(GroupServiceDefinition, 'getGroup', { group }, options);
    return reply.group ?? Group.fromPartial({ name: group });
  }

  /**
   * Sets the config of a group, or clears it with undefined, and returns the revision of the event that set it (0 if there is none).
   * With `expectedRevision`: only if that is the revision of the current config (0: only if there is none); otherwise it is rejected
   * with `CONFIG_CONFLICT`. Needs neither a session nor members.
   */
  async configureGroup(
    group: string,
    config: string | undefined,
    { expectedRevision, signal }: Cancellable & { expectedRevision?: bigint | undefined } = {},
  ): Promise<bigint> {
    const request = { group, config, expectedRevision };
    // A repeated call would find the config of the first one instead of the expected one.
    const options = { signal, isSafe: expectedRevision === undefined };
    return (await this.call(GroupServiceDefinition, 'configureGroup', request, options)).configRevision;
  }
}

/** The items of a list, page by page, so that stopping early costs nothing. */
async function* pages<P extends { nextPageToken: string }, T>(
  read: (pageToken: string) => Promise<P>,
  items: (page: P) => T[],
): AsyncGenerator<T, void, undefined> {
  let pageToken = '';
  do {
    const page = await read(pageToken);
    yield* items(page);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
}
