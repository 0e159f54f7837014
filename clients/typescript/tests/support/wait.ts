// Waiting for conditions, with a deadline.
import { setTimeout as sleep } from 'node:timers/promises';

const DEADLINE_MS = 20_000;
const PAUSE_MS = 10;

/** Waits until it is so. */
export async function eventually(isSo: () => boolean | Promise<boolean>, within = DEADLINE_MS): Promise<void> {
  const deadline = performance.now() + within;
  while (!(await isSo())) {
    if (performance.now() > deadline) {
      throw new Error(`it did not come to be so within ${within} ms: ${isSo.toString()}`);
    }
    await sleep(PAUSE_MS);
  }
}

/** All items. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) {
    list.push(item);
  }
  return list;
}

/** What it comes to within the deadline. */
export async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T> {
  const overdue = new AbortController();
  const deadline = sleep(milliseconds, undefined, { signal: overdue.signal }).then(() => {
    throw new Error(`it took longer than ${milliseconds} ms`);
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    overdue.abort();
    deadline.catch(() => undefined);
  }
}
