// Progress, as a condition for the renewal of a session. The time is passed in.
import type { Moment } from './clock.js';

/** Requires a tick in each `within` milliseconds, from its beginning on. */
export class Progress {
  private ticked: Moment = Infinity;

  constructor(private readonly within: number) {}

  /** Begins, unless it has begun: when the session is open, or the claim is held. */
  begin(now: Moment): void {
    this.ticked = Math.min(this.ticked, now);
  }

  tick(now: Moment): void {
    this.ticked = now;
  }

  /** Whether the last tick is too long ago. */
  isStalled(now: Moment): boolean {
    return now - this.ticked >= this.within;
  }
}
