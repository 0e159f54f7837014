// Open sessions: attached to the stream, renewed, lost.
import type { Moment } from '../clock.js';
import { fromWire } from '../convert.js';
import type { LostReason } from '../errors.js';
import { RefusedError } from '../errors.js';
import type { AttachedSession, HoldEnded, TransferRequested } from '../generated/tenure/v1/stream.js';
import type { SessionPresence } from '../presence.js';
import type { Progress } from '../progress.js';
import { renewalPeriod } from '../validity.js';
import { countedAttachment } from './attachment.js';
import type { AcquireSpec, ClaimEntry, Outcome } from './claim.js';
import { Claims } from './claims.js';
import { commandBackoff } from '../link/backoff.js';
import type { Engine, Reply } from './engine.js';
import type { Timer } from './timers.js';
import { clear } from './timers.js';

/** Sessions whose renewal is due within this part of their period are renewed together with those that are due now. */
const GATHER_DIVISOR = 4;
/** A server that cannot attach a session for now is left after so many tries, if it serves no other session. */
const ATTACH_TRIES = 3;
/** How often in the time between two renewals it is looked whether there is progress again ... */
const LOOKS_PER_PERIOD = 8;
/** ... and no oftener than this. */
const SHORTEST_LOOK_MS = 5;

/** Detached: not attached to a stream, and no answer to come that would. Attached: the stream's answers count. */
type Stage = 'detached' | 'attaching' | 'attached' | 'over';

/** An open session. */
export class LiveSession {
  readonly claims: Claims;
  /** The progress of the work under holds, without which the session is not renewed. */
  readonly neededByHolds = new Set<Progress>();
  private stage: Stage = 'attached';
  private attachedAt: Moment;
  /** When the last renewal was sent. */
  private renewedAt: Moment;
  /** When its phase is looked at next. */
  private look: Timer | undefined;
  private refusals = 0;
  private readonly backoff = commandBackoff();

  /** It was opened on the stream that there is. */
  constructor(
    readonly engine: Engine,
    readonly id: string,
    readonly owner: string,
    readonly presence: SessionPresence,
    /** The progress of the whole program, if the session is renewed only while there is some. */
    readonly progress: Progress | undefined,
    /** How often it was asked to be attached, its opening included. */
    private attachment: bigint,
    sent: Moment,
    now: Moment,
  ) {
    this.claims = new Claims(this);
    this.attachedAt = now;
    this.renewedAt = sent;
    engine.sessions.set(id, this);
    this.renewLater(sent);
    this.lookAtChange(now);
  }

  get isAttached(): boolean {
    return this.stage === 'attached';
  }

  get isOver(): boolean {
    return this.stage === 'over';
  }

  detach(): void {
    this.stage = 'detached';
    this.claims.detach();
  }

  sendAttach(now: Moment): void {
    if (this.stage !== 'detached') {
      return;
    }
    const again = this.heldBackUntil(now);
    if (again !== undefined) {
      this.engine.timers.set(again, (now) => this.sendAttach(now));
      return;
    }
    this.attachment += 1n;
    const command = this.engine.send(
      {
        $case: 'attachSession',
        value: {
          namespace: this.engine.namespace,
          sessionId: this.id,
          attachment: this.attachment,
          clientId: this.engine.clientId,
        },
      },
      {
        attachedSession: (answer, sent, now) => this.attached(answer, sent, now),
        refusal: (refusal, _sent, now) => this.attachRefused(RefusedError.from(refusal), now),
      },
      now,
    );
    if (command !== undefined) {
      this.stage = 'attaching';
      this.engine.expectAnswer(command, now + renewalPeriod(this.presence.window));
    }
  }

  private attached({ session, revision }: AttachedSession, sent: Moment, now: Moment): void {
    if (this.isOver) {
      return;
    }
    const ttl = session?.ttl === undefined ? this.presence.ttl : fromWire(session.ttl);
    const grace = session?.disconnectGrace === undefined ? undefined : fromWire(session.disconnectGrace);
    this.presence.attached(ttl, grace, sent, now);
    this.stage = 'attached';
    this.renewedAt = sent;
    this.attachedAt = now;
    this.refusals = 0;
    this.backoff.reset();
    this.renewLater(sent);
    // A grace that is new may end it earlier.
    if (this.isGoneBy(now)) {
      return;
    }
    this.claims.compare(session?.claims ?? [], revision, now);
    this.claims.send(now);
  }

  private attachRefused(refusal: RefusedError, now: Moment): void {
    if (this.endedBy(refusal, now)) {
      return;
    }
    this.engine.isForNow(refusal);
    this.stage = 'detached';
    const counted = countedAttachment(refusal);
    if (counted !== undefined && counted > this.attachment) {
      this.attachment = counted;
    }
    this.refusals += 1;
    // Whatever the reason: only the session's own deadline ends the trying.
    this.engine.timers.set(now + this.backoff.nextPause(), (now) => this.sendAttach(now));
    if (this.refusals % ATTACH_TRIES === 0) {
      this.engine.leaveIfIdle();
    }
  }

  /** The stream's answers do not count for the session any more: it has to be attached again. */
  moved(now: Moment): void {
    if (!this.isAttached) {
      return;
    }
    this.detach();
    // At once, unless somebody else attaches it in turn: then not faster than it is renewed.
    const period = renewalPeriod(this.presence.window);
    const pause = now - this.attachedAt > period ? 0 : Math.min(this.backoff.nextPause(), period);
    this.engine.timers.set(now + pause, (now) => this.sendAttach(now));
  }

  private renewLater(sent: Moment): void {
    this.engine.timers.set(sent + renewalPeriod(this.presence.window), (now) => this.renewIfDue(now));
  }

  /** Whether its renewal is due, or will be within so many quarters of its period. */
  isDue(now: Moment, quarters: number): boolean {
    const period = renewalPeriod(this.presence.window);
    return this.isAttached && this.renewedAt + period <= now + (period / GATHER_DIVISOR) * quarters;
  }

  private renewIfDue(now: Moment): void {
    if (!this.isDue(now, 0)) {
      return;
    }
    const again = this.heldBackUntil(now);
    if (again === undefined) {
      this.engine.renewDue(now);
    } else {
      this.engine.timers.set(again, (now) => this.renewIfDue(now));
    }
  }

  /** A renewal is sent. */
  renewing(now: Moment): void {
    this.renewedAt = now;
    this.renewLater(now);
  }

  /** A renewal was answered. */
  renewed(ttl: number, sent: Moment, now: Moment): void {
    // Attached since this was sent means that another answer counts.
    if (!this.isAttached) {
      return;
    }
    const before = this.presence.window;
    this.presence.renewed(ttl, sent, now);
    if (this.presence.window < before) {
      // Less than was reckoned with: so the next renewal is due earlier.
      this.renewLater(sent);
    }
  }

  /** Whether nothing may be said that renews the session. */
  isHeldBack(now: Moment): boolean {
    const needed = [this.progress, ...this.neededByHolds];
    this.presence.isStalled = needed.some((progress) => progress?.isStalled(now));
    return this.presence.isStalled;
  }

  /** If nothing may be said that renews the session: when to look again. */
  heldBackUntil(now: Moment): Moment | undefined {
    const pause = Math.max(renewalPeriod(this.presence.window) / LOOKS_PER_PERIOD, SHORTEST_LOOK_MS);
    return this.isHeldBack(now) ? now + pause : undefined;
  }

  /** Looks at the session's phase when it changes next, unless it is looked at before. */
  private lookAtChange(now: Moment): void {
    const change = this.presence.nextChange(now);
    if (!this.isOver && change !== undefined && change < (this.look?.at ?? Infinity)) {
      clear(this.look);
      this.look = this.engine.timers.set(change, (now) => {
        this.look = undefined;
        this.isGoneBy(now);
      });
    }
  }

  /** Looks where the session stands. Answers whether it is over. */
  private isGoneBy(now: Moment): boolean {
    const lost = this.presence.lostReason(now);
    if (lost === undefined) {
      this.lookAtChange(now);
      return false;
    }
    if (!this.isOver) {
      this.lose(lost, now);
      // The server may not have given anything away yet: so that others need not wait for that.
      this.engine.closeLater(this.id, now + this.presence.ttl, undefined, now);
    }
    return true;
  }

  /** Whether a refusal says that the session is over; then it is. */
  endedBy(refusal: RefusedError, now: Moment): boolean {
    if (refusal.reason === 'SESSION_IN_USE') {
      this.lose({ reason: 'in_use' }, now);
      return true;
    }
    if (refusal.reason !== 'SESSION_ENDED' && refusal.reason !== 'SESSION_NOT_FOUND') {
      return false;
    }
    const { endReason } = refusal;
    this.lose(endReason === undefined ? { reason: 'forgotten' } : { reason: 'ended', endReason }, now);
    return true;
  }

  /** Ends it on this side, and all that it holds and waits for. */
  lose(lost: LostReason, now: Moment): void {
    if (this.isOver) {
      return;
    }
    this.stage = 'over';
    clear(this.look);
    this.engine.sessions.delete(this.id);
    this.presence.end(lost);
    this.claims.lose(lost);
    // Somebody may have asked for a new session of this id meanwhile.
    this.engine.freed(this.id, now);
  }

  /** Closes it. */
  close(now: Moment, reply?: { reply: Reply<void>; giveUp: Moment }): void {
    if (this.isOver && !this.engine.closings.has(this.id)) {
      reply?.reply.resolve();
      return;
    }
    this.lose({ reason: 'closed' }, now);
    this.engine.closeLater(this.id, now + this.presence.ttl, reply, now);
  }

  /** Asks for locks in this session. */
  acquire(
    spec: AcquireSpec,
    waitMs: number | undefined,
    answerMs: number,
    reply: Reply<Outcome>,
    now: Moment,
  ): ClaimEntry {
    return this.claims.acquire(spec, waitMs, answerMs, reply, now);
  }

  /** The server says that a hold has ended. */
  holdEnded(ended: HoldEnded, now: Moment): void {
    this.claims.holdEnded(ended, now);
  }

  /** The server asks a holder to hand over. */
  transferRequested(request: TransferRequested, now: Moment): void {
    this.claims.transferRequested(request, now);
  }
}
