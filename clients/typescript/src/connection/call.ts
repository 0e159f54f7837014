// Plain calls beside the stream, repeated until their deadline.
import { TenureError, UnavailableError } from '../error.js';
import type { Cancellable } from '../options/client.js';
import { methodOf, type ReplyOf, type RequestOf, type Service } from '../transport/method.js';
import { Backoff, onAbort, sleep } from '../waiting.js';
import type { Connection } from './connection.js';

export interface CallOptions extends Cancellable {
  /** Whether the call may be repeated after a lost reply. Default: true. */
  isSafe?: boolean;
  /** How long the server may wait before it replies, in milliseconds. Default: 0. */
  waitMs?: number;
}

/**
 * Makes one call, in the connection's namespace, to the server that the stream is connected to. Repeats it at other servers
 * until the call's deadline; one that is not safe to repeat, only if it certainly had no effect.
 */
export async function call<S extends Service, M extends keyof S['methods'] & string>(
  connection: Connection,
  service: S,
  name: M,
  fields: Partial<RequestOf<S, M>>,
  { isSafe = true, waitMs = 0, signal }: CallOptions = {},
): Promise<ReplyOf<S, M>> {
  const method = methodOf(service, name);
  const request = method.request({ ...fields, namespace: connection.namespace });
  const backoff = Backoff.ofCalls();
  let problem: unknown;
  const ender = new AbortController();
  const stopListening = onAbort([signal], (reason) => ender.abort(reason));
  const overdue = () => ender.abort(problem ?? connection.unanswered);
  const timer = setTimeout(overdue, Math.min(waitMs + connection.callTimeoutMs, 2 ** 31 - 1));
  try {
    for (;;) {
      const wire = await connection.nextWire(ender.signal);
      try {
        return await wire.call(method, request, isSafe ? [ender.signal, wire.left] : [ender.signal]);
      } catch (error) {
        const isTransient = error instanceof TenureError && error.isTransient;
        if (!isTransient || (!isSafe && error instanceof UnavailableError)) {
          throw error;
        }
        problem = error;
      }
      await sleep(backoff.nextPause(), ender.signal);
    }
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}
