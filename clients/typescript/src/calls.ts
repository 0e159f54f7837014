// Plain calls: reads and an operator's means, each a call of its own beside the stream.
import { now } from './clock.js';
import type { RefusedError } from './errors.js';
import { ClosedError, TenureError, UnavailableError } from './errors.js';
import { sleep } from './latest.js';
import { commandBackoff } from './link/backoff.js';
import type { Connection, Method } from './link/connection.js';
import type { Line, Link } from './link/link.js';
import type { Cancellable } from './options.js';

export interface CallOptions extends Cancellable {
  /** Whether a call may be tried again when its answer was lost, because doing it twice is doing it once. */
  isSafe: boolean;
  /** How long the server may wait with its answer, besides the call's time-out. */
  waitMs?: number;
}

/** One call to the server that the stream is connected to, tried again elsewhere until the call's deadline. */
export async function call<Q, A>(link: Link, method: Method<Q, A>, request: Q, options: CallOptions): Promise<A> {
  const { isSafe, waitMs = 0, signal } = options;
  const deadline = now() + waitMs + link.callTimeoutMs;
  const backoff = commandBackoff();
  for (;;) {
    try {
      return await attempt(link, method, request, deadline, options);
    } catch (error) {
      const isLost = error instanceof UnavailableError;
      const again = isLost ? isSafe : (error as Partial<RefusedError>).isTransient === true;
      const pause = backoff.nextPause();
      if (!(error instanceof TenureError) || !again || now() + pause >= deadline) {
        throw error;
      }
      await sleep(pause, signal);
    }
  }
}

async function attempt<Q, A>(
  link: Link,
  method: Method<Q, A>,
  request: Q,
  deadline: number,
  { isSafe, signal }: CallOptions,
): Promise<A> {
  const ender = new AbortController();
  const cancelled = () => ender.abort(signal?.reason);
  signal?.addEventListener('abort', cancelled, { once: true });
  if (signal?.aborted === true) {
    cancelled();
  }
  const overdue = () => ender.abort(troubleOf(link));
  const timer = setTimeout(overdue, Math.max(0, deadline - now()));
  let unwatch: (() => void) | undefined;
  try {
    const connection = await connectionOf(link, ender.signal);
    if (isSafe) {
      // The stream has noticed that the server is gone: no need to wait for this call's deadline.
      unwatch = link.line.onChange(() => ender.abort(new UnavailableError('the connection broke')));
    }
    return await connection.call(method, request, ender.signal);
  } finally {
    clearTimeout(timer);
    unwatch?.();
    signal?.removeEventListener('abort', cancelled);
  }
}

function troubleOf(link: Link): TenureError {
  const line = link.line.value;
  return 'trouble' in line ? line.trouble : new UnavailableError('the server did not answer');
}

/** The connection, once there is one. It is not waited for where the credentials are refused. */
async function connectionOf(link: Link, signal: AbortSignal): Promise<Connection> {
  const isWaitedFor = (line: Line) => 'trouble' in line && line.trouble instanceof UnavailableError;
  const line = await link.line.until((line) => !isWaitedFor(line), signal);
  if (line.up !== undefined) {
    return line.up;
  }
  throw 'trouble' in line ? line.trouble : new ClosedError();
}

/** All items of a list that is asked for page by page, so that stopping early costs nothing. */
export async function* pages<T>(
  read: (pageToken: string) => Promise<{ items: T[]; nextPageToken: string }>,
): AsyncGenerator<T, void, undefined> {
  let pageToken = '';
  do {
    const page = await read(pageToken);
    yield* page.items;
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
}
