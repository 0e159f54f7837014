// One session, claim or membership, from its declaration to its end, as the protocol and its handles see it.
import { type Moment, now } from '../clock.js';
import { LostError, type LostReason } from '../error.js';
import type { BusyState, Declaration, PendingTransfer, Refusal } from '../v1.js';
import { Notifier } from '../waiting.js';
import { Validity } from './validity.js';

/** The latest that is known of a session, claim or membership. */
export type Status =
  /** No server has reported it yet. */
  | { kind: 'declared' }
  /** The session is open. */
  | { kind: 'open' }
  /** The claim is in the queue. */
  | { kind: 'waiting'; busy: BusyState }
  /** The claim holds its locks. Its holder may be asked to transfer them: since when. */
  | { kind: 'held'; token: bigint; transfer?: { pending: PendingTransfer; since: Moment } }
  /** The membership exists, under this number of the group. */
  | { kind: 'joined'; member: bigint }
  /** This client has withdrawn it, and the server has yet to confirm that. */
  | { kind: 'withdrawn' }
  /** It has ended. */
  | { kind: 'ended'; end: End };

/** Why something has ended. */
export type End =
  /** This client withdrew it, and the server has confirmed that, or never received it. */
  | { kind: 'withdrawn' }
  /** The locks are not free. */
  | { kind: 'busy'; busy: BusyState }
  /** The server rejected it. */
  | { kind: 'rejected'; refusal: Refusal }
  /** For any other reason. */
  | { kind: 'lost'; reason: LostReason };

export class Item {
  status: Status = { kind: 'declared' };
  /** The bytes of its declaration, if that was sent and no server has confirmed it. */
  unconfirmed = 0;
  /** The epoch in which it was withdrawn. */
  withdrawn: number | undefined;
  /** The fencing token of a held claim. */
  token: bigint | undefined;
  /** That of its session. */
  readonly validity: Validity;
  /** If it is a session: its claims and memberships. */
  readonly parts = new Set<Item>();
  private lost: LostReason | undefined;
  private readonly changes = new Notifier();
  private readonly controller = new AbortController();

  constructor(
    readonly number: bigint,
    /** Its session. `undefined`: it is one. */
    readonly session: Item | undefined,
    /** The first number of its declaration. */
    readonly first: bigint,
    /** Its declaration, without what was declared with it, until its state is received. Then it is known to exist. */
    public declared: Declaration | undefined,
  ) {
    this.validity = session?.validity ?? new Validity();
    session?.parts.add(this);
  }

  /** Whether it is a session that is to be kept open. */
  get isWantedSession(): boolean {
    return !this.session && this.withdrawn === undefined;
  }

  /**
   * Why it is lost, if it is: finally, since the server may have granted its locks to others. Decided by the clock at this moment;
   * the first caller to see that it has expired records that.
   */
  lostReason(time = now()): LostReason | undefined {
    this.lost ??= this.session?.lostReason(time) ?? this.lossIn(time);
    return this.lost;
  }

  /** The program ends it. Returns the reason why it was lost before, if it was. */
  release(time = now()): LostReason | undefined {
    const lost = this.lostReason(time);
    this.lost ??= this.released;
    return lost;
  }

  /** Fires when it is lost or released, once the protocol has reported that. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Wakes those who wait for changes. */
  notify(time: Moment): void {
    const lost = this.lostReason(time);
    this.changes.notify();
    if (lost) {
      this.controller.abort(new LostError(lost));
    }
  }

  /** Waits for a change of it or its session, at most until then. */
  changed(until: Moment, signal?: AbortSignal): Promise<void> {
    const notifiers = this.session ? [this.changes, this.session.changes] : [this.changes];
    return Notifier.wait(notifiers, until - now(), signal);
  }

  /** Waits until `look` finds something, which is called after each change. */
  async until<T>(look: () => T | undefined, signal?: AbortSignal): Promise<T> {
    for (;;) {
      const found = look();
      if (found !== undefined) {
        return found;
      }
      await this.changed(Infinity, signal);
    }
  }

  private lossIn(time: Moment): LostReason | undefined {
    if (this.status.kind === 'withdrawn') {
      return this.released;
    }
    if (this.status.kind === 'ended') {
      const { end } = this.status;
      return end.kind === 'lost' ? end.reason : end.kind === 'withdrawn' ? this.released : { reason: 'forgotten' };
    }
    const { until, isPaused } = this.validity;
    return time < until ? undefined : { reason: isPaused ? 'stalled' : 'unrenewed' };
  }

  private get released(): LostReason {
    return { reason: this.session ? 'released' : 'closed' };
  }
}
