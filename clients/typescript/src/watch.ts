// Watching who holds what, as it changes.
import { now } from './clock.js';
import type { Watched, WatchItem, WatchOptions } from './engine/watched.js';
import type { Link } from './link/link.js';

/**
 * What happens: each revision once and in order, across reconnects. It ends when the client is closed, and rejects with what
 * trying again cannot cure. A reader that is slow loses nothing: the server is asked again from where the reader is.
 */
export class Watch implements AsyncIterableIterator<WatchItem> {
  private readonly watched: Watched;
  /** The reads that are under way: one after the other. */
  private last: Promise<unknown> = Promise.resolve();

  /** @internal */
  constructor(
    private readonly link: Link,
    options: WatchOptions,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.watched = link.watch(options);
    signal?.addEventListener('abort', this.stop, { once: true });
    if (signal?.aborted === true) {
      this.stop();
    }
  }

  /** The next item. */
  next(): Promise<IteratorResult<WatchItem, undefined>> {
    const read = this.last.then(() => this.read());
    this.last = read.catch(() => undefined);
    return read;
  }

  /** Ends the watch. */
  return(): Promise<IteratorResult<WatchItem, undefined>> {
    this.stop();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  private readonly stop = (): void => {
    this.signal?.removeEventListener('abort', this.stop);
    this.watched.end();
    this.link.turnSoon();
  };

  private async read(): Promise<IteratorResult<WatchItem, undefined>> {
    for (;;) {
      const item = this.watched.take(now());
      this.link.turnSoon();
      if (item !== undefined) {
        return { done: false, value: item };
      }
      const { ended } = this.watched;
      if (ended?.error !== undefined) {
        throw ended.error;
      }
      if (ended !== undefined) {
        this.signal?.throwIfAborted();
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => this.watched.onNews(resolve));
      this.watched.onNews(undefined);
    }
  }
}
