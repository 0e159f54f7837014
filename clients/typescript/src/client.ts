// The client: where everything begins.
import type { ElectionOptions } from './election.js';
import { Election } from './election.js';
import type { WatchOptions } from './engine/watched.js';
import { GroupCalls } from './group/calls.js';
import type { GroupOptions } from './group/request.js';
import { GroupRequest } from './group/request.js';
import { Link } from './link/link.js';
import type { LockOptions } from './lock.js';
import { LockRequest } from './lock.js';
import type { Cancellable, ClientOptions } from './options.js';
import { checkedOptions, optionsFromEnv } from './options.js';
import type { SessionOptions } from './session.js';
import { checkedSession, Session } from './session.js';
import { Watch } from './watch.js';

/** The options of a session that is opened for one request and ends with what came of it. */
export interface OwnSession extends Pick<SessionOptions, 'ttlMs' | 'disconnectGraceMs' | 'owner'> {
  /** The rest of that session's options. Those that are given beside this go before. */
  session?: SessionOptions;
}

/** @internal */
export function ownSession({ ttlMs, disconnectGraceMs, owner, session }: OwnSession): SessionOptions {
  return {
    ...session,
    ...(ttlMs !== undefined && { ttlMs }),
    ...(disconnectGraceMs !== undefined && { disconnectGraceMs }),
    ...(owner !== undefined && { owner }),
  };
}

/**
 * A client of the service, for one namespace. It connects in the background, to one server at a time, and goes to the next
 * when that fails; sessions, what they hold, and their places in queues go along.
 */
export class Client extends GroupCalls implements AsyncDisposable {
  /** @internal */
  override readonly link: Link;

  private constructor(options: ClientOptions) {
    super();
    this.link = new Link(checkedOptions(options));
  }

  /**
   * A client for these endpoints (a text of URLs separated by commas) or options. Returns at once; calls wait for a
   * connection, each until its deadline. Throws `InvalidError` if an option cannot be used: an endpoint is no URL, a file
   * cannot be read, a token would go out in the clear, ...
   */
  static connect(options: string | ClientOptions = {}): Client {
    return new Client(typeof options === 'string' ? { endpoints: options } : options);
  }

  /**
   * A client with the options of the environment, where they are set and not empty: `TENURE_ENDPOINTS` (separated by commas),
   * `TENURE_NAMESPACE`, `TENURE_CA_CERT`, `TENURE_CLIENT_CERT`, `TENURE_CLIENT_KEY`, `TENURE_TLS_SERVER_NAME`, `TENURE_TOKEN`
   * and `TENURE_TOKEN_FILE`. Those that are given beside it go before. Throws `InvalidError` as `connect` does.
   */
  static fromEnv(options: ClientOptions = {}): Client {
    return new Client({ ...optionsFromEnv(process.env), ...options });
  }

  /** The namespace of all that this client does. */
  get namespace(): string {
    return this.link.namespace;
  }

  /** Opens a session, which then keeps itself alive. Rejects with `RefusedError` (a TTL out of bounds, ...), ... */
  async session(options: SessionOptions = {}, { signal }: Cancellable = {}): Promise<Session> {
    return new Session(this, await this.link.openSession(checkedSession(options), signal));
  }

  /** Asks for a lock in a session of its own, which ends with the guard. */
  lock(name: string, options: LockOptions & OwnSession = {}): LockRequest {
    return this.locks([name], options);
  }

  /** Asks for several locks at once, all or nothing, with one token: 1 to 16 different names. */
  locks(names: readonly string[], options: LockOptions & OwnSession = {}): LockRequest {
    return new LockRequest((signal) => this.own(options, signal), names, options);
  }

  /** A candidate's part in an election. */
  election(name: string, options: ElectionOptions = {}): Election {
    return new Election(this, name, options);
  }

  /** Takes part in a group, in a session of its own, which ends with the membership. */
  group(name: string, options: GroupOptions & OwnSession = {}): GroupRequest {
    return new GroupRequest(this, (signal) => this.own(options, signal), true, name, options);
  }

  /** Watches locks and groups. It ends with the signal, or by leaving the loop. */
  watch(options: WatchOptions = {}, { signal }: Cancellable = {}): Watch {
    return new Watch(this.link, options, signal);
  }

  /**
   * Closes all sessions of this client and ends its connection. To be awaited before a program ends, so that what it holds is
   * free at once. Rejects with `UnavailableError` if no server answered in time; the sessions then end by their TTLs.
   */
  close(): Promise<void> {
    return this.link.shutDown();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close().catch(() => undefined);
  }

  private async own(options: OwnSession, signal: AbortSignal | undefined): Promise<{ session: Session; isOwn: true }> {
    return { session: await this.session(ownSession(options), { signal }), isOwn: true };
  }
}
