// Errors of calls. A lock held by another claim is a result, not an error.
import type { EndedState, EndReason, Refusal } from './v1.js';

/** The kind of an error. */
export type ErrorCode = 'UNAVAILABLE' | 'REFUSED' | 'LOST' | 'INVALID' | 'CLOSED' | 'STALE_TOKEN';

/** Base of all errors of this library. Decide by `code` or by the class, never by the message. */
export abstract class TenureError extends Error {
  abstract readonly code: ErrorCode;

  /** Whether the same call may succeed later, at this or another server. */
  get isTransient(): boolean {
    return false;
  }
}

/** No server replied before the call's deadline. The request may or may not have taken effect. */
export class UnavailableError extends TenureError {
  override readonly name = 'UnavailableError';
  readonly code = 'UNAVAILABLE';

  constructor(readonly problem: string) {
    super(`no server answered in time: ${problem}`);
  }

  override get isTransient(): boolean {
    return true;
  }
}

const TRANSIENT: readonly string[] = ['STORE_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'LEASE_LOST', 'DRAINING', 'OVERLOADED'];

/** The server rejected the request. */
export class RefusedError extends TenureError {
  override readonly name = 'RefusedError';
  readonly code = 'REFUSED';
  /**
   * Why: the contract's `ErrorReason` without its prefix, such as `NOT_HOLDER`. Empty for a rejection that does not come from
   * the service itself, but for example from a proxy.
   */
  readonly reason: string;
  /** The facts, by the names that the contract gives for each reason: `name`, `session_id`, `token`, ... */
  readonly metadata: Readonly<Record<string, string>>;

  /** @internal */
  constructor(readonly refusal: Refusal) {
    super(refusal.message || refusal.reason || `status ${refusal.code}`);
    this.reason = refusal.reason;
    this.metadata = refusal.metadata;
  }

  override get isTransient(): boolean {
    return TRANSIENT.includes(this.reason);
  }
}

/** Why a session, a hold or a membership was lost. */
export type LostReason =
  | {
      /**
       * - `released`: this program released it.
       * - `closed`: this program closed the session or the client.
       * - `unrenewed`: no renewal was acknowledged in time; from now on the server may grant the locks to others.
       * - `stalled`: not renewed, because the program made no progress; likewise.
       * - `forgotten`: the server does not have it, or no longer.
       * - `in_use`: another program uses the client's id.
       */
      reason: 'released' | 'closed' | 'unrenewed' | 'stalled' | 'forgotten' | 'in_use';
    }
  /** The server reported its end: why, and the operator who ended it with a note, if one did. */
  | { reason: 'ended'; ended: EndedState };

/** The session, hold or membership is lost, finally. */
export class LostError extends TenureError {
  override readonly name = 'LostError';
  readonly code = 'LOST';

  constructor(readonly lost: LostReason) {
    super(`lost: ${describeLost(lost)}`);
  }
}

const DESCRIPTIONS = {
  released: 'released by this program',
  closed: 'closed by this program',
  unrenewed: 'no renewal was answered in time',
  stalled: 'not renewed, because the program made no progress',
  forgotten: 'the server does not know of it any more',
  in_use: "another program uses the client's id",
};

/** Why something was lost, for people: `evicted by anna (host is gone)`. */
export function describeLost(lost: LostReason): string {
  if (lost.reason !== 'ended') {
    return DESCRIPTIONS[lost.reason];
  }
  const { reason, operator, note } = lost.ended;
  return wordOf(reason) + (operator && ` by ${operator}`) + (note && ` (${note})`);
}

/** The reason in one word, as in the facts of a rejection: `evicted`. */
export function wordOf(reason: EndReason): string {
  return reason.replace('END_REASON_', '').toLowerCase();
}

/** An option is invalid. No request was sent. */
export class InvalidError extends TenureError {
  override readonly name = 'InvalidError';
  readonly code = 'INVALID';

  constructor(
    /** The option. */
    readonly field: string,
    /** What is wrong with it. */
    readonly problem: string,
  ) {
    super(`invalid ${field}: ${problem}`);
  }
}

/** Throws `InvalidError` if that is so. */
export function invalidIf(isInvalid: boolean, field: string, problem: string): void {
  if (isInvalid) {
    throw new InvalidError(field, problem);
  }
}

/** Throws `LostError` if there is a reason. */
export function throwIfLost(lost: LostReason | undefined): void {
  if (lost) {
    throw new LostError(lost);
  }
}

/** The client was closed. */
export class ClosedError extends TenureError {
  override readonly name = 'ClosedError';
  readonly code = 'CLOSED';

  constructor() {
    super('the client was closed');
  }
}
