// What is held.
import { call } from './connection/call.js';
import { type Moment, now } from './clock.js';
import { fromWire } from './convert.js';
import type { Part } from './declare.js';
import { throwIfLost } from './error.js';
import type { Cancellable } from './options/client.js';
import type { Metadata } from './options/session.js';
import { Presence } from './presence.js';
import type { Session } from './session.js';
import { LockServiceDefinition, type PendingTransfer } from './v1.js';

/** The part of the drain that is reserved for the release to reach the server in time: a fifth ... */
const MARGIN_DIVISOR = 5;
/** ... but at least this ... */
const MARGIN_MIN_MS = 20;
/** ... and at most this. */
const MARGIN_MAX_MS = 1000;

/** When to stop work that is to be over within `drainMs` since then. */
export function stopAt(drainMs: number, since: Moment): Moment {
  const margin = Math.min(Math.max(drainMs / MARGIN_DIVISOR, MARGIN_MIN_MS), MARGIN_MAX_MS);
  return since + Math.max(0, drainMs - margin);
}

/** A request to the holder to stop its work and hand over. It confirms by releasing; otherwise it keeps the lock. */
export class TransferRequest {
  /** @internal */
  constructor(
    /**
     * The request. Without an operator: a better candidate waits, and by the lock's settings it is handed the lock; or the client was
     * moving to another server when the request arrived.
     */
    readonly pending: PendingTransfer,
    private readonly since: Moment,
  ) {}

  /** How long the work may continue, in milliseconds, if the release is to reach the server in time. 0 when that has passed. */
  get remainingMs(): number {
    return Math.max(0, stopAt(fromWire(this.pending.drain), this.since) - now());
  }
}

/** A view of what is held, for the work under it: it shows whether the hold is valid, and does not release it. */
export type Hold = Omit<Guard, 'release' | 'drop' | 'transferTo' | 'updateMetadata' | typeof Symbol.asyncDispose>;

/**
 * Keeps what is held until it is released: by `release`, `drop`, or at the end of an `await using` block. One that is merely
 * forgotten is held, and renewed, until the client is closed.
 */
export class Guard extends Presence {
  /** The session that holds it. */
  readonly session: Session;

  /** @internal */
  constructor(
    { session, item }: Part,
    /** The locks that are held, in byte order. */
    readonly names: readonly string[],
    /**
     * The fencing token, to be sent with every write that the lock protects. Greater than all tokens granted before it in the
     * namespace.
     */
    readonly token: bigint,
  ) {
    super(session.connection, item);
    this.session = session;
  }

  /**
   * Waits until the server asks to hand the locks over: an operator's transfer, or a better candidate that preempts. The work should
   * then stop and release the locks, which confirms the handoff; otherwise the hold remains.
   */
  transferRequested({ signal }: Cancellable = {}): Promise<TransferRequest> {
    return this.item.until(() => this.transferRequest, signal);
  }

  /** The present request, if there is one. */
  get transferRequest(): TransferRequest | undefined {
    const { status } = this.item;
    const transfer = status.kind === 'held' ? status.transfer : undefined;
    return transfer && new TransferRequest(transfer.pending, transfer.since);
  }

  /**
   * Releases the locks, and waits until the server has released them. Rejects with `LostError` if the hold had been lost before, even
   * if only the server knows that; with `UnavailableError` if no server answered in time, and then the release is repeated in the
   * background.
   */
  release(): Promise<void> {
    return this.end();
  }

  /**
   * Hands the locks over to a session that waits for them (by default: to the first in the queue), in one step and without a gap in
   * which they have no holder. Returns the next holder's token. The work must have stopped: from the call on, this hold is not valid
   * any more, and if the handoff fails, the locks are released.
   *
   * Rejects with `LostError`, `RefusedError` (`TRANSFER_IMPOSSIBLE` if no waiter could hold next), `UnavailableError`.
   */
  async transferTo(sessionId = ''): Promise<bigint> {
    const lost = this.item.release();
    try {
      throwIfLost(lost);
      const request = { ...this.key, toSessionId: sessionId };
      return (await call(this.connection, LockServiceDefinition, 'transfer', request)).token;
    } finally {
      this.drop();
    }
  }

  /** Replaces the labels of the claim. Rejects with `RefusedError`, `UnavailableError`. */
  async updateMetadata(metadata: Metadata, options?: Cancellable): Promise<void> {
    const request = { ...this.key, metadata };
    await call(this.connection, LockServiceDefinition, 'updateClaim', request, options);
  }

  /** What identifies the hold in a plain call. */
  private get key() {
    return { name: this.names[0]!, sessionId: this.session.id, token: this.token };
  }
}
