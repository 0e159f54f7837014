// Watches of locks and groups.
import type { Connection } from './connection/connection.js';
import { ClosedError, TenureError } from './error.js';
import { methodOf } from './transport/method.js';
import { type Group, type Lock, type WatchRequest, type WatchResponse, WatchServiceDefinition } from './v1.js';
import { Backoff, sleep } from './waiting.js';

/** Each revision once and in order, across reconnects: see `Client.watch`. */
export async function* watch(
  connection: Connection,
  request: Partial<WatchRequest>,
  signal: AbortSignal | undefined,
): AsyncGenerator<WatchResponse, void, undefined> {
  const { namespace } = connection;
  const method = methodOf(WatchServiceDefinition, 'watch');
  const backoff = Backoff.ofCalls();
  let { afterRevision = 0n } = request;
  for (;;) {
    try {
      const wire = await connection.nextWire(signal);
      const sent = method.request({ ...request, namespace, afterRevision });
      for await (const response of joined(wire.stream(method, sent, [signal, wire.left]))) {
        backoff.reset();
        afterRevision = response.kind?.$case === 'historyGone' ? 0n : response.revision;
        yield response;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ClosedError) {
        return;
      }
      if (!(error instanceof TenureError) || !error.isTransient) {
        throw error;
      }
    }
    await sleep(backoff.nextPause(), signal);
  }
}

/** Joins the parts of each snapshot; of a lock that changed meanwhile, the last state counts. */
async function* joined(responses: AsyncIterable<WatchResponse>): AsyncGenerator<WatchResponse, void, undefined> {
  let locks = new Map<string, Lock>();
  let groups: Group[] = [];
  for await (const response of responses) {
    if (response.kind?.$case === 'snapshot') {
      const part = response.kind.value;
      part.locks.forEach((lock) => locks.set(lock.name, lock));
      groups.push(...part.groups);
      if (part.more) {
        continue;
      }
      [part.locks, part.groups] = [[...locks.values()], groups];
    }
    locks = new Map();
    groups = [];
    yield response;
  }
}
