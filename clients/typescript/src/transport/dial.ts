// Connects to a server: tries one endpoint after the other, without waiting for hung ones.
import { RefusedError, UnavailableError } from '../error.js';
import { sleep } from '../waiting.js';
import type { Wire } from './connector.js';

/** Opens a connection to the endpoint of this index, unless the signal fires. */
export type Open = (index: number, signal: AbortSignal) => Promise<Wire>;

/**
 * Tries these endpoints once, in this order: the next one when one fails or has taken `stagger` milliseconds. Returns the first
 * that opens a stream. The error is that of the last one, unless one rejected the credentials: the user can fix these, while the
 * other servers may be unreachable only temporarily.
 */
export async function dial(order: readonly number[], open: Open, stagger: number, signal: AbortSignal): Promise<Wire> {
  const decided = new AbortController();
  const decide = () => decided.abort();
  signal.addEventListener('abort', decide);
  let turn = Promise.resolve();
  const attempts = order.map(async (index) => {
    const mine = turn;
    let failed = () => {};
    turn = Promise.race([
      new Promise<void>((resolve) => (failed = resolve)),
      mine.then(() => sleep(stagger, decided.signal)).catch(() => undefined),
    ]);
    await mine;
    decided.signal.throwIfAborted();
    try {
      return await open(index, decided.signal);
    } catch (error) {
      failed();
      throw error;
    }
  });
  try {
    const first = await Promise.any(attempts);
    // Another one may have been opened at the same moment.
    void Promise.allSettled(attempts).then((results) =>
      results.forEach((result) => result.status === 'fulfilled' && result.value !== first && result.value.close()),
    );
    return first;
  } catch (error) {
    const errors = (error as AggregateError).errors as Error[];
    throw (
      errors.find((error) => error instanceof RefusedError) ?? errors.at(-1) ?? new UnavailableError('no endpoints')
    );
  } finally {
    signal.removeEventListener('abort', decide);
    decide();
  }
}
