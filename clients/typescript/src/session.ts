// Sessions: this program's presence at the service.
import { now } from './clock.js';
import type { Connection } from './connection/connection.js';
import { fromWire } from './convert.js';
import type { LostReason } from './error.js';
import { type GroupOptions, GroupRequest } from './group/request.js';
import { type LockOptions, LockRequest } from './lock.js';
import type { Cancellable } from './options/client.js';
import { Presence } from './presence.js';
import type { Item } from './protocol/item.js';
import type { DeclaredSession } from './v1.js';

/** The state of a session. */
export type SessionState =
  /** Recently renewed. */
  | { state: 'healthy' }
  /** Still valid, but a renewal is overdue: no server answered, or there was no progress. */
  | { state: 'at_risk' }
  /** Lost, finally. The locks may be granted to others. */
  | { state: 'lost'; lost: LostReason };

/**
 * This program's presence at the service. All its holds and waits end with it. It is renewed in the background until it is
 * closed.
 */
export class Session extends Presence {
  /** @internal */
  constructor(
    connection: Connection,
    item: Item,
    private readonly declared: DeclaredSession,
  ) {
    super(connection, item);
  }

  get id(): string {
    return this.declared.sessionId;
  }

  /** Its owner label. */
  get owner(): string {
    return this.declared.owner;
  }

  /** The TTL. */
  get ttlMs(): number {
    return fromWire(this.declared.ttl);
  }

  /** The disconnect grace. */
  get disconnectGraceMs(): number | undefined {
    return this.declared.disconnectGrace && fromWire(this.declared.disconnectGrace);
  }

  /**
   * The moment, by `performance.now()`, at which the session is lost without another renewal; not later than now once it is lost.
   * That clock may stop while the machine is suspended: to decide whether the session is valid, use `isValid`.
   */
  get validUntil(): number {
    return performance.now() + Math.max(0, this.isValid ? this.item.validity.until - now() : 0);
  }

  /** Its state, decided by the clock at this moment. */
  get state(): SessionState {
    const lost = this.lostReason;
    if (lost) {
      return { state: 'lost', lost };
    }
    return { state: now() < this.item.validity.atRiskFrom ? 'healthy' : 'at_risk' };
  }

  /** Its state, now and after each change. Ends after the loss. */
  async *states({ signal }: Cancellable = {}): AsyncGenerator<SessionState, void, undefined> {
    for (let last: SessionState | undefined; last?.state !== 'lost';) {
      const { state } = this;
      if (state.state === last?.state) {
        await this.item.changed(state.state === 'healthy' ? this.item.validity.atRiskFrom : Infinity, signal);
      } else {
        last = state;
        yield state;
      }
    }
  }

  /** Requests a lock in this session. */
  lock(name: string, options: LockOptions = {}): LockRequest {
    return this.locks([name], options);
  }

  /** Requests several locks at once, all or nothing, with one token: 1 to 16 different names. */
  locks(names: readonly string[], options: LockOptions = {}): LockRequest {
    return new LockRequest({ connection: this.connection, session: this }, names, options);
  }

  /** Requests a membership of a group in this session. */
  group(name: string, options: GroupOptions = {}): GroupRequest {
    return new GroupRequest({ connection: this.connection, session: this }, name, options);
  }

  /**
   * Closes the session, with all its holds and waits, and waits until the server has closed it. Rejects with `UnavailableError` if
   * no server answered in time: it then ends by its TTL at the latest.
   */
  async close(): Promise<void> {
    this.drop();
    await this.connection.end(this.item);
  }
}
