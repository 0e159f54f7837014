// The clock that validity is measured on: it goes on while the machine is suspended, where that can be known.
import { openSync, readSync } from 'node:fs';

/** A moment, in milliseconds. Only differences mean something. */
export type Moment = number;

/**
 * Puts two clocks together: a fine one that stands still in suspend, and a coarse one that runs on. What the coarse one
 * has gained on the fine one is the time slept through. It lags behind by at most the coarse clock's resolution, and never
 * runs backwards.
 */
export class SuspendClock {
  private slept = 0;

  constructor(
    private readonly fine: () => number,
    private readonly coarse: () => number | undefined,
  ) {}

  now(): Moment {
    const coarse = this.coarse();
    const fine = this.fine();
    if (coarse !== undefined) {
      this.slept = Math.max(this.slept, coarse - fine);
    }
    return fine + this.slept;
  }
}

/**
 * Reads the time since the start of the machine, suspend included, in milliseconds with a resolution of 10 ms. Nothing where
 * there is no such file (it is Linux's): suspend then goes unnoticed.
 */
function uptimeReader(): () => number | undefined {
  let file: number;
  try {
    file = openSync('/proc/uptime', 'r');
  } catch {
    return () => undefined;
  }
  const buffer = Buffer.alloc(64);
  return () => {
    try {
      const length = readSync(file, buffer, 0, buffer.length, 0);
      const milliseconds = Number.parseFloat(buffer.toString('latin1', 0, length)) * 1000;
      return Number.isFinite(milliseconds) ? milliseconds : undefined;
    } catch {
      return undefined;
    }
  };
}

const clock = new SuspendClock(() => performance.now(), uptimeReader());

/** Now. */
export function now(): Moment {
  return clock.now();
}
