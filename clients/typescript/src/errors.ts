// Errors: why a call did not do what it was asked. That somebody else holds a lock is an outcome, not an error.
import type { EndReason } from './model.js';
import type { Refusal } from './generated/tenure/v1/session.js';

/** What kind of error it is. */
export type ErrorCode = 'UNAVAILABLE' | 'REFUSED' | 'LOST' | 'INVALID' | 'CLOSED' | 'STALE_TOKEN';

/** What all errors of this library are. Decide by `code` or by the class, never by the message. */
export abstract class TenureError extends Error {
  abstract readonly code: ErrorCode;

  /** Whether the same call may well succeed later, at this or another server. */
  get isTransient(): boolean {
    return false;
  }
}

/** No server answered before the call's deadline. What was asked may or may not have taken effect. */
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

/** The reasons for which the same call may well succeed later. */
const TRANSIENT: ReadonlySet<string> = new Set([
  'STORE_UNAVAILABLE',
  'OUTCOME_UNKNOWN',
  'LEASE_LOST',
  'DRAINING',
  'OVERLOADED',
]);

/** The server refused. */
export class RefusedError extends TenureError {
  override readonly name = 'RefusedError';
  readonly code = 'REFUSED';

  constructor(
    /** Why: the contract's `ErrorReason` without its prefix, such as `NOT_HOLDER`. */
    readonly reason: string,
    message: string,
    /** The facts, by the names that the contract gives for each reason: `name`, `session_id`, `token`, ... */
    readonly metadata: Readonly<Record<string, string>>,
  ) {
    super(message === '' ? reason : message);
  }

  /** @internal */
  static from(refusal: Refusal | undefined): RefusedError {
    const { reason = '', message = '', metadata = new Map<string, string>() } = refusal ?? {};
    return new RefusedError(reason, message, Object.fromEntries(metadata));
  }

  override get isTransient(): boolean {
    return TRANSIENT.has(this.reason);
  }

  /**
   * Whether the server does not know who this is.
   *
   * @internal
   */
  get isUnauthenticated(): boolean {
    return this.reason === 'UNAUTHENTICATED';
  }

  /** Why the session or hold ended, if that is why this was refused. */
  get endReason(): EndReason | undefined {
    return this.metadata['end_reason'] as EndReason | undefined;
  }

  /**
   * What a release fails with that was refused: if the hold had been lost before, with that. (That it was released before is no
   * refusal: servers answer a repetition as they did the first time.)
   *
   * @internal
   */
  ofRelease(): LostError | RefusedError {
    const { endReason } = this;
    return this.reason === 'HOLD_ENDED' && endReason !== undefined
      ? new LostError({ reason: 'ended', endReason })
      : this;
  }
}

/** Why a session or a hold was lost. */
export type LostReason =
  | {
      /**
       * - `released`: this program gave it back.
       * - `closed`: this program closed the session or the client.
       * - `expired`: no renewal was answered in time; from now on the server may give the locks to others.
       * - `stalled`: not renewed, because the program made no progress.
       * - `forgotten`: the server knows nothing of it (any more).
       * - `in_use`: another program uses the session's id.
       */
      reason: 'released' | 'closed' | 'expired' | 'stalled' | 'forgotten' | 'in_use';
    }
  | {
      /** The server says that it has ended. */
      reason: 'ended';
      endReason: EndReason;
      /** The operator who ended it, if one did. */
      operator?: string;
      /** The operator's note. */
      note?: string;
    };

/** The session or the hold is lost, for good. */
export class LostError extends TenureError {
  override readonly name = 'LostError';
  readonly code = 'LOST';

  constructor(readonly lost: LostReason) {
    super(`lost: ${describeLost(lost)}`);
  }
}

/** Why something was lost, for people. */
export function describeLost(lost: LostReason): string {
  switch (lost.reason) {
    case 'released':
      return 'released by this program';
    case 'closed':
      return 'closed by this program';
    case 'expired':
      return 'no renewal was answered in time';
    case 'stalled':
      return 'not renewed, because the program made no progress';
    case 'forgotten':
      return 'the server does not know of it any more';
    case 'in_use':
      return "another program uses the session's id";
    case 'ended': {
      const by = lost.operator === undefined ? '' : ` by ${lost.operator}`;
      return lost.endReason + by + (lost.note === undefined ? '' : ` (${lost.note})`);
    }
  }
}

/** An option cannot be used. Nothing was asked of a server. */
export class InvalidError extends TenureError {
  override readonly name = 'InvalidError';
  readonly code = 'INVALID';

  constructor(
    /** Which option. */
    readonly field: string,
    /** What is wrong with it. */
    readonly problem: string,
  ) {
    super(`invalid ${field}: ${problem}`);
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
