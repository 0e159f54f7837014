// What is held.
import { now } from './clock.js';
import type { ClaimEntry } from './engine/claim.js';
import type { LostReason } from './errors.js';
import { LostError } from './errors.js';
import type { TransferRequest } from './handoff.js';
import type { Metadata } from './model.js';
import type { Cancellable } from './options.js';
import type { HoldPresence } from './presence.js';
import type { Session } from './session.js';

/** A view of what is held, to hand around: it tells whether the hold is valid but does not keep it. */
export class Hold {
  /** @internal */
  constructor(
    /** @internal */
    readonly presence: HoldPresence,
  ) {}

  /**
   * The fencing token, to be sent along with every write that the lock protects. Greater than all tokens granted before it in
   * the namespace.
   */
  get token(): bigint {
    return this.presence.token;
  }

  /** The locks that are held, in byte order. */
  get names(): readonly string[] {
    return this.presence.names;
  }

  /**
   * Whether the server cannot have given the locks away, decided by the clock at this very moment. Once false it stays so. A
   * program may still be paused right after asking: that is what the token is for.
   */
  get isValid(): boolean {
    return this.lostReason === undefined;
  }

  /** Why it is over, once it is lost or released. */
  get lostReason(): LostReason | undefined {
    return this.presence.lostReason(now());
  }

  /** Fires, with a `LostError`, when the hold is lost (before the server could give the locks away) or released. */
  get signal(): AbortSignal {
    return this.presence.signal;
  }

  /** Waits until the hold is lost or released. */
  lost({ signal }: Cancellable = {}): Promise<LostReason> {
    return this.presence.ended.until((lost): lost is LostReason => lost !== undefined, signal);
  }

  /**
   * Waits until the server asks to hand the locks over: an operator's transfer, or a better candidate that preempts. The work
   * should then be stopped and the locks released, which confirms it; if they are not in time, the hold goes on.
   */
  transferRequested({ signal }: Cancellable = {}): Promise<TransferRequest> {
    return this.presence.transfer.until((asked): asked is TransferRequest => asked !== undefined, signal);
  }

  /** The last such request, if there was one. */
  get transferRequest(): TransferRequest | undefined {
    return this.presence.transfer.value;
  }

  /** The work under the hold gets on: see `stallAfterMs`, without which this does nothing. */
  tick(): void {
    this.presence.progress?.tick(now());
  }
}

/**
 * Keeps what is held until it is released: by `release`, or at the end of an `await using` block. One that is merely
 * forgotten is held on, and renewed, until the client is closed.
 */
export class Guard extends Hold implements AsyncDisposable {
  /** @internal */
  constructor(
    /** The session that holds it. */
    readonly session: Session,
    private readonly claim: ClaimEntry,
    presence: HoldPresence,
    /** Whether the session is there for this guard only. */
    private readonly isOwn: boolean,
  ) {
    super(presence);
    if (isOwn) {
      presence.signal.addEventListener('abort', () => this.lostReason?.reason !== 'released' && this.dropOwnSession());
    }
  }

  /** A view of what is held, to hand around. */
  get hold(): Hold {
    return new Hold(this.presence);
  }

  /**
   * Gives the locks back, and resolves when the server has done so. Rejects with `LostError` if the hold had been lost before,
   * even if only the server knows that; with `UnavailableError` if no server answered in time, which is then tried further; with
   * `RefusedError`.
   */
  async release(): Promise<void> {
    const lost = this.lostReason;
    if (lost !== undefined) {
      throw new LostError(lost);
    }
    try {
      await this.session.link.release(this.claim);
    } finally {
      this.dropOwnSession();
    }
  }

  /** Gives the locks back in the background. What was lost or released before stays so. */
  drop(): void {
    this.release().catch(() => undefined);
  }

  /**
   * Hands the locks over to a session that waits for them (by default: to whoever is first in the queue), in one step and
   * without a gap in which nobody holds them. Answers the next holder's token. The work must have stopped: from the call on
   * this hold is not valid any more, and if nothing comes of the handoff the locks are given back.
   *
   * Rejects with `LostError`, `RefusedError` (`TRANSFER_IMPOSSIBLE` if nobody waits who could hold next), `UnavailableError`.
   */
  async transferTo(sessionId?: string): Promise<bigint> {
    const lost = this.lostReason;
    if (lost !== undefined) {
      throw new LostError(lost);
    }
    this.presence.end({ reason: 'released' });
    try {
      return await this.session.client.handOver(this.names[0] ?? '', this.session.id, this.token, sessionId);
    } finally {
      this.session.link
        .release(this.claim)
        .catch(() => undefined)
        .finally(() => this.dropOwnSession());
    }
  }

  /** Replaces the labels of the claim. Rejects with `LostError`, `RefusedError`, `UnavailableError`. */
  async update(metadata: Metadata, options?: Cancellable): Promise<void> {
    const lost = this.lostReason;
    if (lost !== undefined) {
      throw new LostError(lost);
    }
    await this.session.client.updateClaim(this.names[0] ?? '', this.session.id, this.token, metadata, options);
  }

  /** Releases, unless it is over already. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isValid) {
      await this.release().catch(() => undefined);
    }
  }

  private dropOwnSession(): void {
    if (this.isOwn) {
      this.session.drop();
    }
  }
}
