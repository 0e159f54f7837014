// The current stream: its Hello, and what is sent on it.
import type { Moment } from '../clock.js';
import { Change, type ConnectRequest, Declaration, Hello } from '../v1.js';
import type { Item } from './item.js';

/** The most changes in one message: the contract's bound. */
const CHANGES_PER_MESSAGE = 1000;
/** With this many bytes a message is complete. With what is added last it is below the contract's 4 MiB. */
const BYTES_PER_MESSAGE = 3 << 20;
/** The most bytes of a number in a message, of the tag and the length before it, and of its repetition as paused. */
const BYTES_PER_ITEM = 20;

/** A stream, from its Hello on. */
export class Stream {
  /** When the oldest change that has a reply was queued, of those since the last states ... */
  asked: Moment = Infinity;
  /** ... and whether a keep-alive was sent because of it. */
  isProbed = false;
  /** Whether the client is to connect to another server. */
  isLeft = false;
  /** The messages to send. A keep-alive acknowledges the changes before it. */
  private readonly outgoing: NonNullable<ConnectRequest['kind']>[];
  /** The bytes of the last message, if it has changes. */
  private bytes = 0;

  constructor(
    readonly epoch: number,
    /** The number of its Hello among the keep-alives. */
    readonly hello: number,
    /** When its Hello was queued. */
    readonly connected: Moment,
    hellos: Hello[],
  ) {
    this.outgoing = hellos.map((value) => ({ $case: 'hello', value }));
  }

  /** Queues a change: successive ones go together. */
  change(kind: NonNullable<Change['kind']>, now: Moment): void {
    if (this.asked === Infinity && (kind.$case === 'declare' || kind.$case === 'withdraw')) {
      this.asked = now;
      this.isProbed = false;
    }
    const change = { kind, traceparent: '' };
    const last = this.outgoing.at(-1);
    if (
      last?.$case === 'changes' &&
      last.value.changes.length < CHANGES_PER_MESSAGE &&
      this.bytes < BYTES_PER_MESSAGE
    ) {
      last.value.changes.push(change);
    } else {
      this.bytes = 0;
      this.outgoing.push({ $case: 'changes', value: { changes: [change] } });
    }
    this.bytes += BYTES_PER_ITEM + Change.encode(change).finish().length;
  }

  /** Queues a keep-alive. */
  keepAlive(number: number): void {
    this.outgoing.push({ $case: 'keepAlive', value: { number: BigInt(number) } });
  }

  /** The next message to send. */
  pollTransmit(): ConnectRequest | undefined {
    const kind = this.outgoing.shift();
    return kind && { kind };
  }
}

/**
 * Whether a Hello states it. What was withdrawn before a server confirmed it is not stated; what was withdrawn later is, so
 * that the reason of its end is reported.
 */
export function isStated(item: Item): boolean {
  return item.withdrawn === undefined || item.declared === undefined;
}

/**
 * States everything, in parts within the contract's bound. What was declared together is stated one by one: a session whose claim
 * is busy is opened, and closed by this client.
 */
export function hellos(head: Partial<Hello>, items: Iterable<Item>): Hello[] {
  const parts = [Hello.fromPartial(head)];
  let bytes = 0;
  for (const item of items) {
    if (!isStated(item)) {
      continue;
    }
    if (bytes >= BYTES_PER_MESSAGE) {
      parts.at(-1)!.more = true;
      parts.push(Hello.fromPartial(head));
      bytes = 0;
    }
    const { known, declared, paused } = parts.at(-1)!;
    bytes += BYTES_PER_ITEM;
    if (item.declared) {
      bytes += Declaration.encode(item.declared).finish().length;
      declared.push(item.declared);
    } else {
      known.push(item.number);
      paused.push(...(!item.session && item.validity.isPaused ? [item.number] : []));
    }
  }
  return parts;
}

/** The change that a Hello cannot state: that a session which it declares is paused, and what was withdrawn. */
export function unstated(item: Item): Change['kind'] {
  if (item.withdrawn === undefined) {
    const isPaused = !item.session && item.validity.isPaused && item.declared;
    return isPaused ? { $case: 'pause', value: item.number } : undefined;
  }
  // The withdrawal of a session is that of everything in it.
  const isImplied = item.session?.withdrawn !== undefined;
  return isStated(item) && !isImplied ? { $case: 'withdraw', value: item.number } : undefined;
}
