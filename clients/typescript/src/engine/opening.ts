// Sessions that are being opened.
import type { Moment } from '../clock.js';
import { fromWire, toWire } from '../convert.js';
import type { TenureError } from '../errors.js';
import { InvalidError, LostError, RefusedError } from '../errors.js';
import type { Session } from '../generated/tenure/v1/session.js';
import { SessionPresence } from '../presence.js';
import { Progress } from '../progress.js';
import { countedAttachment } from './attachment.js';
import { commandBackoff } from '../link/backoff.js';
import type { Engine, Reply } from './engine.js';
import { LiveSession } from './session.js';

/** A server that takes so long to open a session is left, if it serves no other session. */
const PATIENCE_MS = 1500;
/** As is one that refuses for now so many times. */
const TRIES = 3;

/** The session to open. */
export interface OpenOptions {
  id: string;
  ttlMs: number;
  disconnectGraceMs: number | undefined;
  owner: string;
  metadata: Readonly<Record<string, string>>;
  stallAfterMs: number | undefined;
}

export class Opening {
  private command: number | undefined;
  /** How often a server was asked to attach the session. */
  private attachment = 0n;
  private refusals = 0;
  private refusal: RefusedError | undefined;
  private readonly backoff = commandBackoff();

  private constructor(
    private readonly engine: Engine,
    private readonly options: OpenOptions,
    private readonly reply: Reply<LiveSession>,
  ) {}

  static begin(
    engine: Engine,
    options: OpenOptions,
    giveUp: Moment,
    reply: Reply<LiveSession>,
    now: Moment,
  ): Opening | undefined {
    const { id } = options;
    if (engine.openings.has(id) || engine.sessions.has(id)) {
      reply.reject(new InvalidError('id', `this client has a session "${id}" already`));
      return undefined;
    }
    const opening = new Opening(engine, options, reply);
    engine.timers.set(giveUp, (now) => {
      if (opening.isUnderWay) {
        opening.abandon(engine.inVain(opening.refusal), now);
      }
    });
    engine.openings.set(id, opening);
    opening.send(now);
    return opening;
  }

  private get isUnderWay(): boolean {
    return this.engine.openings.get(this.options.id) === this;
  }

  detach(): void {
    this.command = undefined;
  }

  send(now: Moment): void {
    const { id, ttlMs, disconnectGraceMs, owner, metadata } = this.options;
    // A session of the same id that is still being closed goes first; its end asks again.
    if (!this.isUnderWay || this.command !== undefined || this.engine.closings.has(id)) {
      return;
    }
    const attachment = this.attachment + 1n;
    this.command = this.engine.send(
      {
        $case: 'openSession',
        value: {
          namespace: this.engine.namespace,
          sessionId: id,
          ttl: toWire(ttlMs),
          disconnectGrace: disconnectGraceMs === undefined ? undefined : toWire(disconnectGraceMs),
          owner,
          metadata: new Map(Object.entries(metadata)),
          attachment,
          clientId: this.engine.clientId,
        },
      },
      {
        openSession: ({ session }, sent, now) => this.opened(session, sent, now),
        refusal: (refusal, _sent, now) => this.refused(RefusedError.from(refusal), now),
      },
      now,
    );
    const { command } = this;
    if (command !== undefined) {
      this.attachment = attachment;
      this.engine.timers.set(now + PATIENCE_MS, () => {
        if (this.engine.isUnanswered(command)) {
          this.engine.leaveIfIdle();
        }
      });
    }
  }

  private opened(session: Session | undefined, sent: Moment, now: Moment): void {
    if (!this.isUnderWay) {
      return;
    }
    const { id, ttlMs, stallAfterMs } = this.options;
    const ttl = session?.ttl === undefined ? ttlMs : fromWire(session.ttl);
    const grace = session?.disconnectGrace === undefined ? undefined : fromWire(session.disconnectGrace);
    const presence = new SessionPresence(ttl, grace, sent);
    const lost = presence.lostReason(now);
    if (lost !== undefined) {
      this.abandon(new LostError(lost), now);
      return;
    }
    this.engine.openings.delete(id);
    const progress = stallAfterMs === undefined ? undefined : new Progress(stallAfterMs, now);
    const owner = session?.owner ?? '';
    const live = new LiveSession(this.engine, id, owner, presence, progress, this.attachment, sent, now);
    this.reply.resolve(live);
  }

  private refused(refusal: RefusedError, now: Moment): void {
    if (!this.isUnderWay) {
      return;
    }
    this.command = undefined;
    const counted = countedAttachment(refusal);
    if (counted !== undefined) {
      this.attachment = counted > this.attachment ? counted : this.attachment;
      this.send(now);
    } else if (this.engine.isForNow(refusal)) {
      this.refusal = refusal;
      this.refusals += 1;
      this.engine.timers.set(now + this.backoff.nextPause(), (now) => this.send(now));
      if (this.refusals % TRIES === 0) {
        this.engine.leaveIfIdle();
      }
    } else {
      this.engine.openings.delete(this.options.id);
      this.reply.reject(refusal);
    }
  }

  /** Stops opening the session, which may be open all the same if a server was asked: so it is closed. */
  abandon(error: TenureError, now: Moment): void {
    if (this.isUnderWay) {
      this.engine.openings.delete(this.options.id);
      this.reply.reject(error);
      if (this.attachment > 0n) {
        this.engine.closeLater(this.options.id, now + this.options.ttlMs, undefined, now);
      }
    }
  }
}
