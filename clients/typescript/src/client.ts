// The client.
import { randomUUID } from 'node:crypto';
import { Calls } from './calls.js';
import { Connection } from './connection/connection.js';
import { openSession, type Target } from './declare.js';
import { Election, type ElectionOptions } from './election.js';
import { type GroupOptions, GroupRequest } from './group/request.js';
import { type LockOptions, LockRequest } from './lock.js';
import { type Cancellable, checkedOptions, type ClientOptions, optionsFromEnv } from './options/client.js';
import type { SessionOptions } from './options/session.js';
import type { Session } from './session.js';
import { Driver } from './transport/driver.js';
import type { WatchRequest, WatchResponse } from './v1.js';
import { watch } from './watch.js';

/** The options of a session that is opened for one request, and ends with what was requested. */
export interface OwnSession extends Pick<SessionOptions, 'ttlMs' | 'disconnectGraceMs' | 'owner'> {
  /** Further options of that session; those beside this one take precedence. */
  session?: SessionOptions;
}

/**
 * A client of the service, for one namespace. It connects in the background, to one server at a time, and fails over to the next;
 * sessions, their holds, and their places in queues remain. An open client keeps the process alive.
 */
export class Client extends Calls implements AsyncDisposable {
  /** @internal */
  override readonly connection: Connection;
  private readonly driver: Driver;

  private constructor(options: ClientOptions) {
    super();
    const checked = checkedOptions(options);
    this.connection = new Connection(checked.namespace, randomUUID(), checked.callTimeoutMs);
    this.driver = new Driver(this.connection, checked);
  }

  /**
   * A client for these endpoints (separated by commas) or options. Returns at once; calls wait for a connection, each until its
   * deadline. Throws `InvalidError` if an endpoint or another option is invalid, a file cannot be read, or a token would be sent in
   * plaintext.
   */
  static connect(options: string | ClientOptions = {}): Client {
    return new Client(typeof options === 'string' ? { endpoints: options } : options);
  }

  /**
   * A client with the options of the environment, where they are set and not empty: `TENURE_ENDPOINTS` (separated by commas),
   * `TENURE_NAMESPACE`, `TENURE_CA_CERT`, `TENURE_CLIENT_CERT`, `TENURE_CLIENT_KEY`, `TENURE_TLS_SERVER_NAME`, `TENURE_TOKEN` and
   * `TENURE_TOKEN_FILE`. The given options take precedence. Throws `InvalidError` as `connect` does.
   */
  static fromEnv(options: ClientOptions = {}): Client {
    return new Client({ ...optionsFromEnv(process.env), ...options });
  }

  /** The namespace of this client. */
  get namespace(): string {
    return this.connection.namespace;
  }

  /** Opens a session, which is then renewed in the background. Rejects with `RefusedError` (a TTL out of bounds, ...), `UnavailableError`. */
  async session(options: SessionOptions = {}, { signal }: Cancellable = {}): Promise<Session> {
    return openSession({ connection: this.connection, options }, signal);
  }

  /** Requests a lock in a session of its own, which ends with the guard. */
  lock(name: string, options: LockOptions & OwnSession = {}): LockRequest {
    return this.locks([name], options);
  }

  /** Requests several locks at once, all or nothing, with one token: 1 to 16 different names. */
  locks(names: readonly string[], options: LockOptions & OwnSession = {}): LockRequest {
    return new LockRequest(this.target(options), names, options);
  }

  /** A candidacy in an election. */
  election(name: string, options: ElectionOptions = {}): Election {
    return new Election(this, name, options);
  }

  /** Requests a membership of a group, in a session of its own, which ends with the membership. */
  group(name: string, options: GroupOptions & OwnSession = {}): GroupRequest {
    return new GroupRequest(this.target(options), name, options);
  }

  /**
   * Watches locks and groups: with neither names nor prefixes nor groups, all locks. Each revision once and in order, across
   * reconnects; first a snapshot, unless the request has an `afterRevision`. The parts of a snapshot are joined to one. A slow reader
   * misses nothing.
   *
   * It begins with the first read. It ends when the loop over it is left, and when the client is closed; it rejects with the signal's
   * reason, and with errors that a retry cannot fix.
   */
  watch(
    request: Partial<WatchRequest> = {},
    { signal }: Cancellable = {},
  ): AsyncGenerator<WatchResponse, void, undefined> {
    return watch(this.connection, request, signal);
  }

  /**
   * Closes all sessions of this client and ends its connection. Await it before a program ends, so that its locks are free at once.
   * Rejects with `UnavailableError` if no server answered in time; the sessions then end by their TTLs.
   */
  async close(): Promise<void> {
    try {
      await this.connection.close();
    } finally {
      this.driver.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close().catch(() => undefined);
  }

  private target({ ttlMs, disconnectGraceMs, owner, session }: OwnSession): Target {
    const beside = Object.entries({ ttlMs, disconnectGraceMs, owner }).filter(([, value]) => value !== undefined);
    return { connection: this.connection, options: { ...session, ...Object.fromEntries(beside) } };
  }
}
