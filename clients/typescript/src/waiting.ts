// Waits that end at a change, after some time, or by an AbortSignal, and leave nothing behind.

/** The longest time that a timer of the runtime can be set to. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** All that waits for a signal, as one listener: the runtime searches all listeners of a signal to add one. */
class Listeners extends Set<() => void> {
  private static readonly all = new WeakMap<AbortSignal, Listeners>();

  static add(signal: AbortSignal, fire: () => void): void {
    const listeners = this.all.get(signal) ?? new this();
    this.all.set(signal, listeners.add(fire));
    signal.addEventListener('abort', listeners);
  }

  static remove(signal: AbortSignal, fire: () => void): void {
    const listeners = this.all.get(signal);
    if (listeners?.delete(fire) && listeners.size === 0) {
      this.all.delete(signal);
      signal.removeEventListener('abort', listeners);
    }
  }

  handleEvent(): void {
    [...this].forEach((fire) => fire());
  }
}

/** Calls `abort` with the reason of the first of these signals that fires. Returns what stops listening. */
export function onAbort(signals: readonly (AbortSignal | undefined)[], abort: (reason: Error) => void): () => void {
  const given = signals.filter((signal) => signal !== undefined);
  const fire = () => {
    stop();
    abort(given.find((signal) => signal.aborted)?.reason as Error);
  };
  const stop = () => given.forEach((signal) => Listeners.remove(signal, fire));
  if (given.some((signal) => signal.aborted)) {
    fire();
  } else {
    given.forEach((signal) => Listeners.add(signal, fire));
  }
  return stop;
}

/** A signal that fires when one of these does, with its reason; and what stops listening to them. */
export function firstOf(...signals: (AbortSignal | undefined)[]): [AbortSignal, () => void] {
  const controller = new AbortController();
  return [controller.signal, onAbort(signals, (reason) => controller.abort(reason))];
}

/** Wakes those who wait for a change. */
export class Notifier {
  private readonly wakers = new Set<() => void>();

  notify(): void {
    [...this.wakers].forEach((wake) => wake());
  }

  /** Waits until one of these is notified, at most so long (or 24 days). Rejects with the signal's reason when that fires. */
  static wait(notifiers: readonly Notifier[], milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = () => {
        clearTimeout(timer);
        stopListening();
        notifiers.forEach(({ wakers }) => wakers.delete(wake));
        resolve();
      };
      const timer = milliseconds === Infinity ? undefined : setTimeout(wake, Math.min(milliseconds, LONGEST_TIMER_MS));
      notifiers.forEach(({ wakers }) => wakers.add(wake));
      let stopListening = () => {};
      stopListening = onAbort([signal], (reason) => {
        reject(reason);
        wake();
      });
    });
  }
}

/** Waits so long. Rejects with the signal's reason when that fires. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return Notifier.wait([], milliseconds, signal);
}

/** Doubling pauses between attempts, in milliseconds: each is drawn from the upper half of its step. */
export class Backoff {
  private attempts = 0;

  constructor(
    private readonly first: number,
    private readonly longest: number,
  ) {}

  /** Between attempts of a call, or of what was rejected temporarily. */
  static ofCalls(): Backoff {
    return new Backoff(20, 500);
  }

  /** Between attempts of long-lived roles: to lead, to join, to watch. */
  static ofRoles(): Backoff {
    return new Backoff(50, 500);
  }

  /** The pause before the next attempt. */
  nextPause(): number {
    const step = Math.min(this.first * 2 ** this.attempts, this.longest);
    this.attempts = Math.min(this.attempts + 1, 16);
    return step * (0.5 + Math.random() / 2);
  }

  /** Starts again with a short pause, after a success. */
  reset(): void {
    this.attempts = 0;
  }
}
