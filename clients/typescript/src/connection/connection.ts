// The connection to the service, as its handles see it: what they declare, and the channel for plain calls beside the stream.
// What owns the stream is in `transport`.
import { type Moment, now } from '../clock.js';
import { type TenureError, UnavailableError } from '../error.js';
import type { Progress } from '../progress.js';
import type { End, Item } from '../protocol/item.js';
import { Protocol } from '../protocol/protocol.js';
import type { Wire } from '../transport/connector.js';
import { Notifier } from '../waiting.js';

/** How often it is checked, while there is no progress, whether there is again. */
const LOOK_FOR_PROGRESS_MS = 20;

export class Connection {
  readonly protocol: Protocol;
  /** The progress that renewals depend on, by the session or claim that needs it. */
  readonly progress = new Map<Item, Progress>();
  /** Called after each change. */
  wake: () => void = () => undefined;
  /** Whether nothing is declared any more. */
  isClosing = false;
  /** The sessions without progress. */
  private stalled = new Set<Item>();
  /** The channel to the server that the stream is connected to, or why there is none. */
  private wire: { up: Wire } | { up?: undefined; problem: TenureError };
  private readonly wireChanges = new Notifier();

  constructor(
    readonly namespace: string,
    clientId: string,
    readonly callTimeoutMs: number,
  ) {
    this.protocol = new Protocol(namespace, clientId);
    this.wire = { problem: new UnavailableError('not connected yet') };
  }

  /** Changes the state, notifies those who wait for it, and wakes the driver. */
  change<T>(change: (protocol: Protocol, now: Moment) => T): T {
    const time = now();
    const changed = change(this.protocol, time);
    const items = [...this.protocol.changed];
    this.protocol.changed.clear();
    for (const item of items) {
      const { kind } = item.status;
      if (kind === 'open' || kind === 'held') {
        this.progress.get(item)?.begin(time);
      } else if (kind === 'withdrawn' || kind === 'ended') {
        this.progress.delete(item);
      }
      item.notify(time);
    }
    this.wake();
    return changed;
  }

  /** Withdraws what a handle has, or no longer waits for. */
  withdraw(item: Item): void {
    this.change((protocol, now) => protocol.withdraw(item, now));
  }

  /** Pauses the sessions without progress, and resumes the others. Returns when to check that again, at the latest. */
  checkProgress(now: Moment): Moment {
    const before = this.stalled;
    this.stalled = new Set();
    for (const [item, progress] of this.progress) {
      if (progress.isStalled(now)) {
        this.stalled.add(item.session ?? item);
      }
    }
    new Set([...before, ...this.stalled]).forEach((session) =>
      this.protocol.setPaused(session, this.stalled.has(session), now),
    );
    return this.stalled.size > 0 ? now + LOOK_FOR_PROGRESS_MS : Infinity;
  }

  setWire(wire: { up: Wire } | { problem: TenureError }): void {
    const before = this.wire;
    this.wire = wire;
    before.up?.leave();
    this.wireChanges.notify();
  }

  /** The channel to the server that the stream is connected to. Waits for one, unless the credentials are rejected. */
  async nextWire(signal: AbortSignal | undefined): Promise<Wire> {
    for (;;) {
      if (this.wire.up) {
        return this.wire.up;
      }
      if (!(this.wire.problem instanceof UnavailableError)) {
        throw this.wire.problem;
      }
      await Notifier.wait([this.wireChanges], Infinity, signal);
    }
  }

  /** The error of a request without a reply. */
  get unanswered(): TenureError {
    return this.wire.up ? new UnavailableError('the server did not answer') : this.wire.problem;
  }

  /** Waits for the end of what was withdrawn. */
  async end(item: Item): Promise<End> {
    const deadline = now() + this.callTimeoutMs;
    while (item.status.kind !== 'ended') {
      if (now() >= deadline) {
        throw this.unanswered;
      }
      await item.changed(deadline);
    }
    return item.status.end;
  }

  /** Closes all sessions; later requests fail. */
  async close(): Promise<void> {
    this.isClosing = true;
    const sessions = [...this.protocol.items.values()].filter((item) => !item.session);
    this.change((protocol, now) => sessions.forEach((session) => protocol.withdraw(session, now)));
    await Promise.all(sessions.map((session) => this.end(session)));
  }
}
