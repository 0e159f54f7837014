// The current stream: its Hello, and what is sent on it.
import type { Moment } from '../clock.js';
import { Change, type ConnectRequest, type Declaration, Hello } from '../v1.js';
import type { Item } from './item.js';

/** The most changes in one message: the contract's bound. */
const CHANGES_PER_MESSAGE = 1000;
/** With this many bytes a message is complete. With what is added last it is below the contract's 4 MiB. */
const BYTES_PER_MESSAGE = 3 << 20;
/** The most bytes of the tag and the length before a change. */
const BYTES_PER_CHANGE = 10;
/** The most known numbers in one message: with what is declared it is below the contract's 4 MiB. */
const KNOWN_PER_HELLO = 100_000;

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
    this.bytes += BYTES_PER_CHANGE + Change.encode(change).finish().length;
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
 * Whether a Hello states it, if it was sent. What was withdrawn before a server confirmed it is not stated; what was withdrawn
 * later is, so that the reason of its end is reported.
 */
export function isStated(item: Item): boolean {
  return item.withdrawn === undefined || item.declared === undefined;
}

/** What declares these. What was declared together stays together: then a busy lock leaves no session behind. */
export function declarations(items: readonly Item[]): Declaration[] {
  const all = new Map<bigint, Declaration>();
  for (const { first, declared } of items) {
    const before = all.get(first);
    const claims = [...(before?.claims ?? []), ...declared!.claims];
    const memberships = [...(before?.memberships ?? []), ...declared!.memberships];
    all.set(first, { ...(before ?? declared!), claims, memberships });
  }
  return [...all.values()];
}

/** States these, in parts within the contract's bound. */
export function hellos(head: Partial<Hello>, items: readonly Item[]): Hello[] {
  const known = items.filter(({ declared }) => !declared);
  const parts: Hello[] = [];
  do {
    const part = known.splice(0, KNOWN_PER_HELLO);
    const paused = part.filter(({ session, validity }) => !session && validity.isPaused);
    const numbers = { known: part.map(({ number }) => number), paused: paused.map(({ number }) => number) };
    parts.push(Hello.fromPartial({ ...head, ...numbers, more: known.length > 0 }));
  } while (known.length > 0);
  parts.at(-1)!.declared = declarations(items.filter(({ declared }) => declared));
  return parts;
}
