// Sessions that are being closed, so that what they held need not wait for their TTL.
import type { Moment } from '../clock.js';
import { RefusedError } from '../errors.js';
import { commandBackoff } from '../link/backoff.js';
import type { Engine, Reply } from './engine.js';

export class Closing {
  /** From then on the server has ended it by itself. */
  private until: Moment = -Infinity;
  private replies: { reply: Reply<void>; giveUp: Moment }[] = [];
  private command: number | undefined;
  private refusal: RefusedError | undefined;
  private readonly backoff = commandBackoff();

  constructor(
    private readonly engine: Engine,
    private readonly id: string,
  ) {}

  /** Closes it for one more who waits for that, or until later. */
  extend(until: Moment, reply: { reply: Reply<void>; giveUp: Moment } | undefined, now: Moment): void {
    this.until = Math.max(this.until, until);
    this.engine.timers.set(until, (now) => this.forget(now));
    if (reply !== undefined) {
      this.replies.push(reply);
      this.engine.timers.set(reply.giveUp, (now) => this.giveUp(now));
    }
    this.send(now);
  }

  private get isUnderWay(): boolean {
    return this.engine.closings.get(this.id) === this;
  }

  detach(): void {
    this.command = undefined;
  }

  send(now: Moment): void {
    if (!this.isUnderWay || this.command !== undefined) {
      return;
    }
    this.command = this.engine.send(
      {
        $case: 'closeSession',
        value: { namespace: this.engine.namespace, sessionId: this.id, clientId: this.engine.clientId },
      },
      {
        closeSession: (_answer, _sent, now) => this.closed(now),
        refusal: (refusal, _sent, now) => this.refused(RefusedError.from(refusal), now),
      },
      now,
    );
  }

  /** The server has ended the session. */
  closed(now: Moment): void {
    this.settle(({ reply }) => reply.resolve(), now);
  }

  private refused(refusal: RefusedError, now: Moment): void {
    this.command = undefined;
    if (this.engine.isForNow(refusal)) {
      this.refusal = refusal;
      this.engine.timers.set(now + this.backoff.nextPause(), (now) => this.send(now));
    } else if (['SESSION_ENDED', 'SESSION_NOT_FOUND', 'SESSION_IN_USE'].includes(refusal.reason)) {
      this.closed(now);
    } else {
      this.settle(({ reply }) => reply.reject(refusal), now);
    }
  }

  private settle(tell: (waiting: { reply: Reply<void> }) => void, now: Moment): void {
    if (this.isUnderWay) {
      this.engine.closings.delete(this.id);
      this.replies.forEach(tell);
      this.engine.freed(this.id, now);
    }
  }

  private giveUp(now: Moment): void {
    const late = this.replies.filter(({ giveUp }) => giveUp <= now);
    this.replies = this.replies.filter(({ giveUp }) => giveUp > now);
    for (const { reply } of late) {
      reply.reject(this.engine.inVain(this.refusal));
    }
    this.forget(now);
  }

  /** The session has ended by itself. Who still waits for an answer is told by its own deadline. */
  private forget(now: Moment): void {
    if (this.until <= now && this.replies.length === 0) {
      this.closed(now);
    }
  }
}
