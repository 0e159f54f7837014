// Durations: the contract's messages, and milliseconds.
import type { Duration } from './generated/google/protobuf/duration.js';

export function toWire(milliseconds: number): Duration {
  const seconds = Math.floor(milliseconds / 1000);
  return { seconds: BigInt(seconds), nanos: Math.floor((milliseconds - seconds * 1000) * 1e6) };
}

export function fromWire({ seconds, nanos }: Duration = { seconds: 0n, nanos: 0 }): number {
  return Math.max(0, Number(seconds) * 1000 + nanos / 1e6);
}
