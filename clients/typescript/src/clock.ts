// The clock of validity: it runs while the machine is suspended, where the platform can show that.
import { openSync, readSync } from 'node:fs';

/** A moment, in milliseconds. Only differences have a meaning. */
export type Moment = number;

/**
 * Combines two clocks: a fine one that stops in suspend, and a coarse one that does not. What the coarse one has gained is the
 * time of suspend. The result lags by at most the resolution of the coarse clock, and never runs backwards.
 */
export class SuspendClock {
  private suspended = 0;

  constructor(
    private readonly fine: () => number,
    private readonly coarse: () => number,
  ) {}

  now(): Moment {
    const coarse = this.coarse();
    const fine = this.fine();
    this.suspended = Math.max(this.suspended, coarse - fine);
    return fine + this.suspended;
  }
}

/**
 * Reads the time since the start of the machine, suspend included, with a resolution of 10 ms. The file is Linux's; without it
 * the result is 0, and suspend is not noticed.
 */
function uptimeReader(): () => number {
  try {
    const file = openSync('/proc/uptime', 'r');
    const buffer = Buffer.alloc(64);
    return () => Number.parseFloat(buffer.toString('latin1', 0, readSync(file, buffer, 0, 64, 0))) * 1000 || 0;
  } catch {
    return () => 0;
  }
}

const clock = new SuspendClock(() => performance.now(), uptimeReader());

/** Now. */
export function now(): Moment {
  return clock.now();
}
