// Sessions: this program's presence at the service.
import type { Client } from './client.js';
import { now } from './clock.js';
import type { OpenOptions } from './engine/opening.js';
import type { LiveSession } from './engine/session.js';
import type { LostReason } from './errors.js';
import type { GroupOptions } from './group/request.js';
import { GroupRequest } from './group/request.js';
import { randomUuidV7 } from './session_id.js';
import type { Link } from './link/link.js';
import type { LockOptions } from './lock.js';
import { LockRequest } from './lock.js';
import type { Metadata } from './model.js';
import type { Cancellable } from './options.js';
import { duration, positive } from './options.js';
import type { SessionState } from './presence.js';

const DEFAULT_TTL_MS = 10_000;

/** How to open a session. Durations are milliseconds. */
export interface SessionOptions {
  /**
   * How long the session outlives this program if that dies: 500 ms to 24 h unless the server is configured otherwise.
   * Default: 10 s.
   */
  ttlMs?: number;
  /**
   * How long the session outlives this program's connection: 100 ms to the TTL. The client holds itself to the same rule: when
   * none of its renewals was answered for that long, the session is lost to it. So choose it longer than it takes to reach
   * another server, or, if there is only one, than that takes to start. Default: none, the TTL alone counts.
   */
  disconnectGraceMs?: number;
  /** Who this is, for people: a host, a pod, a job. At most 255 bytes. Default: empty. */
  owner?: string;
  /** Free labels: at most 4096 bytes. Default: none. */
  metadata?: Metadata;
  /**
   * The session's id: 1 to 128 bytes. Two programs must never use the same id at the same time: what one holds the other
   * would hold too. Default: a fresh one.
   */
  id?: string;
  /**
   * Renews the session only while the program makes progress: while its opening, or the last `tick` of the session, is less
   * than this ago. More than 0. Without progress all that the session holds is lost. Default: renewed while the client runs.
   */
  stallAfterMs?: number;
}

/** @internal */
export function checkedSession(options: SessionOptions): OpenOptions {
  const { ttlMs = DEFAULT_TTL_MS, disconnectGraceMs, owner = '', metadata = {}, id, stallAfterMs } = options;
  return {
    id: id ?? randomUuidV7(),
    ttlMs: duration('ttlMs', ttlMs),
    disconnectGraceMs: disconnectGraceMs === undefined ? undefined : duration('disconnectGraceMs', disconnectGraceMs),
    owner,
    metadata,
    stallAfterMs: stallAfterMs === undefined ? undefined : positive('stallAfterMs', stallAfterMs),
  };
}

/** This program's presence at the service. Keeps itself alive; what it holds and waits for ends when it ends. */
export class Session implements AsyncDisposable {
  /** @internal */
  constructor(
    /** @internal */
    readonly client: Client,
    /** @internal */
    readonly live: LiveSession,
  ) {}

  /** @internal */
  get link(): Link {
    return this.client.link;
  }

  get id(): string {
    return this.live.id;
  }

  /** Its owner label. */
  get owner(): string {
    return this.live.owner;
  }

  /** The TTL that the server granted. */
  get ttlMs(): number {
    return this.live.presence.ttl;
  }

  /** The disconnect grace that the server granted. */
  get disconnectGraceMs(): number | undefined {
    return this.live.presence.disconnectGrace;
  }

  /**
   * Whether the server cannot have given its locks away, decided by the clock at this very moment: a process that was paused
   * for too long gets false on waking. Once false it stays so.
   */
  get isValid(): boolean {
    return this.lostReason === undefined;
  }

  /**
   * The moment, by `performance.now()`, at which the session is lost if nothing more is heard from the server. Not later than
   * now once it is lost. That clock may stand still while the machine is suspended: to decide, ask `isValid`.
   */
  get validUntil(): number {
    const left = this.isValid ? this.live.presence.until - now() : 0;
    return performance.now() + Math.max(0, left);
  }

  /** Where it stands, decided by the clock at this very moment. */
  get state(): SessionState {
    return this.live.presence.check(now());
  }

  /** Where it stands, now and after each change, up to its loss. */
  states({ signal }: Cancellable = {}): AsyncGenerator<SessionState, void, undefined> {
    return this.live.presence.state.values(({ state }) => state === 'lost', signal);
  }

  /** Why it is lost, if it is. */
  get lostReason(): LostReason | undefined {
    return this.live.presence.lostReason(now());
  }

  /** Fires, with a `LostError`, when the session is lost: before the server could give its locks away. */
  get signal(): AbortSignal {
    return this.live.presence.signal;
  }

  /** Waits until the session is lost. */
  async lost({ signal }: Cancellable = {}): Promise<LostReason> {
    const isLost = (state: SessionState) => state.state === 'lost';
    const { lost } = await this.live.presence.state.until(isLost, signal);
    return lost;
  }

  /** Asks for a lock in this session. */
  lock(name: string, options: LockOptions = {}): LockRequest {
    return this.locks([name], options);
  }

  /** Asks for several locks at once, all or nothing, with one token: 1 to 16 different names. */
  locks(names: readonly string[], options: LockOptions = {}): LockRequest {
    return new LockRequest(() => Promise.resolve({ session: this, isOwn: false }), names, options);
  }

  /** Takes part in a group as this session. */
  group(name: string, options: GroupOptions = {}): GroupRequest {
    return new GroupRequest(this.client, () => Promise.resolve({ session: this, isOwn: false }), false, name, options);
  }

  /** The program gets on: see `stallAfterMs`, without which this does nothing. */
  tick(): void {
    this.live.progress?.tick(now());
  }

  /**
   * Closes the session, and with it all that it holds and waits for. Resolves when the server has done so; rejects with
   * `UnavailableError` if none answered in time: it then ends by its TTL at the latest.
   */
  async close(): Promise<void> {
    await this.link.closeSession(this.live);
  }

  /** Closes it in the background. */
  drop(): void {
    this.link.dropSession(this.live);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close().catch(() => undefined);
  }
}
