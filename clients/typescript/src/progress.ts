// A program's own word that it goes on, without which its sessions are not renewed. The time is passed in.
import type { Moment } from './clock.js';

/** Takes a tick in each `within` milliseconds. */
export class Progress {
  constructor(
    private readonly within: number,
    private told: Moment,
  ) {}

  /** The program gets on. */
  tick(now: Moment): void {
    this.told = now;
  }

  /** Whether the last tick is too long ago. */
  isStalled(now: Moment): boolean {
    return now - this.told >= this.within;
  }
}
