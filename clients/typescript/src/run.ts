// Running something only while a lock is held.
import { LostError } from './errors.js';
import type { Guard } from './guard.js';
import type { Body } from './lock.js';

/** Fires when one of these does. What it answers second stops listening to them. */
export function firstOf(...signals: (AbortSignal | undefined)[]): [AbortSignal, () => void] {
  const controller = new AbortController();
  const stops = signals.map((signal) => {
    const fire = () => controller.abort(signal?.reason);
    signal?.addEventListener('abort', fire, { once: true });
    if (signal?.aborted === true) {
      fire();
    }
    return () => signal?.removeEventListener('abort', fire);
  });
  return [controller.signal, () => stops.forEach((stop) => stop())];
}

/** Runs `body` until it ends or the hold is lost, and gives back. `signal` asks the body to stop; its end is waited for. */
export async function runUnder<T>(guard: Guard, body: Body<T>, signal: AbortSignal | undefined): Promise<T> {
  const [stop, unlisten] = firstOf(guard.signal, signal);
  const work = (async () => body(guard.hold, stop))();
  // What becomes of a body after the loss is not told to anybody.
  work.catch(() => undefined).finally(unlisten);
  await Promise.race([guard.lost(), work.then(nothing, nothing)]);
  const lost = guard.lostReason;
  if (lost !== undefined) {
    throw new LostError(lost);
  }
  await guard[Symbol.asyncDispose]();
  return work;
}

function nothing(): void {}
