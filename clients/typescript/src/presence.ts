// What handles to a session, a hold or a membership have in common.
import { now } from './clock.js';
import type { Connection } from './connection/connection.js';
import { LostError, type LostReason, throwIfLost } from './error.js';
import type { Cancellable } from './options/client.js';
import type { Item } from './protocol/item.js';

export abstract class Presence implements AsyncDisposable {
  /** @internal */
  constructor(
    /** @internal */
    readonly connection: Connection,
    /** @internal */
    readonly item: Item,
  ) {}

  /**
   * Whether the server cannot have ended it, decided by the clock at this moment: a process that was paused for too long gets
   * false when it resumes. Once false it stays so. A program may still be paused right after the check: a lock's token
   * protects against that.
   */
  get isValid(): boolean {
    return this.lostReason === undefined;
  }

  /** Why it is lost or was ended by this program, if it is. */
  get lostReason(): LostReason | undefined {
    return this.item.lostReason();
  }

  /** Fires, with a `LostError`, when it is lost (before the server could grant its locks to others) or was ended. */
  get signal(): AbortSignal {
    return this.item.signal;
  }

  /** Waits until it is lost or was ended. */
  lost({ signal }: Cancellable = {}): Promise<LostReason> {
    return this.item.until(() => this.lostReason, signal);
  }

  /** Reports progress: see `stallAfterMs`, without which this has no effect. */
  tick(): void {
    this.connection.progress.get(this.item)?.tick(now());
  }

  /** Ends it, in the background. */
  drop(): void {
    this.item.release();
    this.connection.withdraw(this.item);
  }

  /** Ends it, unless it is lost, and ignores errors. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end().catch(() => undefined);
  }

  /** Withdraws it, and waits until the server has ended it. Rejects with `LostError` if it had been lost before. */
  protected async end(): Promise<void> {
    const lost = this.lostReason;
    this.drop();
    throwIfLost(lost);
    const end = await this.connection.end(this.item);
    if (end.kind !== 'withdrawn') {
      throw new LostError(end.kind === 'lost' ? end.reason : { reason: 'forgotten' });
    }
  }
}
