// Keep-alives.
import type { Moment } from '../clock.js';
import type { Item } from './item.js';

/**
 * Without a reply for this long, the client connects to another server, which may be faster: for a change if it has no open
 * session, for a keep-alive or a Hello always.
 */
export const PATIENCE_MS = 1000;
/** The same as a part of the shortest time for which a session is valid, if that is less. */
const PATIENCE_DIVISOR = 4;

/** The keep-alives of the current stream. A Hello renews like a keep-alive, and has a number like one. */
export class KeepAlives {
  lastNumber = 0;
  /** When the next one is due: `Infinity` if no session needs it. */
  due: Moment = Infinity;
  /** The shortest time for which a session is valid, in milliseconds: `Infinity` without any. */
  shortest = Infinity;
  /** Those without an acknowledgement, and when they were queued, which is not after they are sent. */
  private unanswered: { number: number; sent: Moment }[] = [];

  /** Adds one, and returns its number. */
  add(now: Moment): number {
    this.lastNumber += 1;
    this.unanswered.push({ number: this.lastNumber, sent: now });
    return this.lastNumber;
  }

  /** Adds the Hello of a new stream: acknowledgements on earlier ones do not count. */
  addHello(now: Moment): number {
    this.unanswered = [];
    return this.add(now);
  }

  /** Removes an acknowledged one, and all before it. Returns when it was queued. */
  acknowledge(number: number): Moment | undefined {
    const acknowledged = this.unanswered.find((one) => one.number === number);
    this.unanswered = this.unanswered.filter((one) => one.number > number);
    return acknowledged?.sent;
  }

  /** Plans the next one after one that is sent at `now`. */
  plan(items: Iterable<Item>, now: Moment): void {
    this.due = this.shortest = Infinity;
    for (const item of items) {
      this.include(item, now);
    }
  }

  /** Takes a session into account that was renewed then. */
  include({ isWantedSession, validity }: Item, renewed: Moment): void {
    if (isWantedSession && validity.renewAfter < Infinity) {
      this.due = Math.min(this.due, renewed + validity.renewAfter);
      this.shortest = Math.min(this.shortest, validity.validFor);
    }
  }

  /** When the server has not replied to the oldest one for too long. */
  get patienceEnds(): Moment {
    return (this.unanswered[0]?.sent ?? Infinity) + Math.min(PATIENCE_MS, this.shortest / PATIENCE_DIVISOR);
  }
}
