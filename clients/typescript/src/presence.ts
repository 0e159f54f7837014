// What handles and the connection know together: whether a session is valid, whether a hold is. The time is passed in.
import type { Moment } from './clock.js';
import type { LostReason } from './errors.js';
import { LostError } from './errors.js';
import type { TransferRequest } from './handoff.js';
import { Latest } from './latest.js';
import type { Progress } from './progress.js';
import type { Phase } from './validity.js';
import { Validity } from './validity.js';

/** Where a session stands. */
export type SessionState =
  /** Renewed lately. */
  | { readonly state: 'healthy' }
  /** Still valid, but a renewal is overdue: less than a third of the TTL is left, or of the disconnect grace. */
  | { readonly state: 'at_risk' }
  /** Over, for good. The locks may be with others. */
  | { readonly state: 'lost'; readonly lost: LostReason };

const HEALTHY: SessionState = { state: 'healthy' };
const AT_RISK: SessionState = { state: 'at_risk' };

/** One session's validity. */
export class SessionPresence {
  readonly state = new Latest<SessionState>(HEALTHY);
  /** Whether a renewal is due and held back for want of progress. */
  isStalled = false;
  private readonly validity: Validity;
  private readonly controller = new AbortController();
  private readonly holds = new Set<HoldPresence>();

  constructor(ttl: number, disconnectGrace: number | undefined, sent: Moment) {
    this.validity = new Validity(ttl, disconnectGrace, sent);
  }

  /** Where the session stands. Whoever sees first that its time is over, makes it so for everyone. */
  check(now: Moment): SessionState {
    this.publish(this.validity.phase(now));
    return this.state.value;
  }

  lostReason(now: Moment): LostReason | undefined {
    const state = this.check(now);
    return state.state === 'lost' ? state.lost : undefined;
  }

  /** A renewal was answered. */
  renewed(ttl: number, sent: Moment, now: Moment): void {
    this.validity.renewed(ttl, sent, now);
    this.check(now);
  }

  /** A command to attach it was answered. */
  attached(ttl: number, disconnectGrace: number | undefined, sent: Moment, now: Moment): void {
    this.validity.attached(ttl, disconnectGrace, sent, now);
    this.check(now);
  }

  /** Ends it. The first reason stays. */
  end(lost: LostReason): void {
    this.validity.end();
    if (this.state.value.state === 'lost') {
      return;
    }
    this.state.set({ state: 'lost', lost });
    for (const hold of this.holds) {
      hold.end(lost);
    }
    this.controller.abort(new LostError(lost));
  }

  nextChange(now: Moment): Moment | undefined {
    return this.validity.nextChange(now);
  }

  get until(): Moment {
    return this.validity.until;
  }

  get ttl(): number {
    return this.validity.ttl;
  }

  get disconnectGrace(): number | undefined {
    return this.validity.disconnectGrace;
  }

  get window(): number {
    return this.validity.window;
  }

  /** Fires when the session is lost. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  add(hold: HoldPresence): void {
    this.holds.add(hold);
  }

  remove(hold: HoldPresence): void {
    this.holds.delete(hold);
  }

  private publish(phase: Phase): void {
    const { state } = this.state.value;
    if (state === 'lost') {
      return;
    }
    if (phase === 'over') {
      this.end({ reason: this.isStalled ? 'stalled' : 'expired' });
    } else if (phase !== state) {
      this.state.set(phase === 'healthy' ? HEALTHY : AT_RISK);
    }
  }
}

/** One hold's validity: its session's, unless the hold ended before. */
export class HoldPresence {
  /** The handoff that the server asked for last. */
  readonly transfer = new Latest<TransferRequest | undefined>(undefined);
  /** Why it is over, once it is. */
  readonly ended = new Latest<LostReason | undefined>(undefined);
  private readonly controller = new AbortController();

  constructor(
    readonly session: SessionPresence,
    readonly names: readonly string[],
    readonly token: bigint,
    readonly progress: Progress | undefined,
  ) {
    session.add(this);
  }

  /** Why it is lost, if it is. */
  lostReason(now: Moment): LostReason | undefined {
    this.session.check(now);
    return this.ended.value;
  }

  /** Ends it. The first reason stays. */
  end(lost: LostReason): void {
    if (this.ended.value !== undefined) {
      return;
    }
    this.session.remove(this);
    this.ended.set(lost);
    this.controller.abort(new LostError(lost));
  }

  /** Fires when the hold is over. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }
}
