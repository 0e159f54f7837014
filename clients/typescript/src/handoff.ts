// Planned handoffs, from the holder's side.
import type { Moment } from './clock.js';
import { now } from './clock.js';

/** What is kept of the drain for the release to reach the server in time: a fifth ... */
const MARGIN_DIVISOR = 5;
/** ... but at least this ... */
const MARGIN_MIN_MS = 20;
/** ... and at most this. */
const MARGIN_MAX_MS = 1000;

/** When to stop work that was asked at `asked` to be over within `drain`. */
export function stopAt(drain: number, asked: Moment): Moment {
  const margin = Math.min(Math.max(drain / MARGIN_DIVISOR, MARGIN_MIN_MS), MARGIN_MAX_MS);
  return asked + Math.max(0, drain - margin);
}

/** The holder is asked to stop its work and hand over. It confirms by releasing; if it does not in time, it holds on. */
export class TransferRequest {
  private readonly stopAt: Moment;

  /** @internal */
  constructor(
    /** For how long the holder was given to go on, from when it was asked. */
    readonly drainMs: number,
    asked: Moment,
    /**
     * The operator who asks. Unset: a better candidate waits, and the lock's settings say that it is handed the lock; or the
     * client was moving to another server when the request came.
     */
    readonly operator?: string,
    /** The operator's note, as far as the operator is known. */
    readonly note?: string,
  ) {
    this.stopAt = stopAt(drainMs, asked);
  }

  /** For how long the work may go on, if the release is to reach the server in time. 0 when that has passed. */
  get remainingMs(): number {
    return Math.max(0, this.stopAt - now());
  }
}
