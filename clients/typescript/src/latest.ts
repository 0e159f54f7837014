// A value that changes, for whoever wants to know it now and after each change. Who is slow sees the latest.

/** Settles as `start` says, or rejects with the signal's reason when that fires first. `start` answers what stops it. */
export function abortable<T>(
  signal: AbortSignal | undefined,
  start: (resolve: (value: T) => void, reject: (error: Error) => void) => () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const done = () => signal?.removeEventListener('abort', aborted);
    const stop = start(
      (value) => {
        done();
        resolve(value);
      },
      (error) => {
        done();
        reject(error);
      },
    );
    function aborted() {
      // Before whatever stopping may tell.
      reject(signal?.reason as Error);
      stop();
    }
    signal?.addEventListener('abort', aborted, { once: true });
  });
}

/** Waits. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return abortable(signal, (resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    return () => clearTimeout(timer);
  });
}

/** A value that changes. */
export class Latest<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set(value: T): void {
    this.current = value;
    for (const listener of [...this.listeners]) {
      listener();
    }
  }

  /** Calls the listener after each change. Answers what stops that. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** The value, as soon as it passes the test. */
  until<S extends T>(test: (value: T) => value is S, signal?: AbortSignal): Promise<S>;
  until(test: (value: T) => boolean, signal?: AbortSignal): Promise<T>;
  until(test: (value: T) => boolean, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted !== true && test(this.current)) {
      return Promise.resolve(this.current);
    }
    return abortable(signal, (resolve) => {
      const stop = this.onChange(() => {
        if (test(this.current)) {
          stop();
          resolve(this.current);
        }
      });
      return stop;
    });
  }

  /** The value now and after each change, up to and including the first that `isLast`. */
  async *values(isLast: (value: T) => boolean, signal?: AbortSignal): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const told = this.current;
      yield told;
      if (isLast(told)) {
        return;
      }
      await this.until((value) => value !== told, signal);
    }
  }
}
