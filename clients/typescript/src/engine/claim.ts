// One claim: from asking, by way of the local queue, to the end of the hold.
import type { Moment } from '../clock.js';
import { claimOf, toWire } from '../convert.js';
import type { LostReason } from '../errors.js';
import { LostError, RefusedError } from '../errors.js';
import type { AcquireResponse } from '../generated/tenure/v1/lock.js';
import { Mode } from '../generated/tenure/v1/session.js';
import type { Claim } from '../model.js';
import { HoldPresence } from '../presence.js';
import { Progress } from '../progress.js';
import { commandBackoff } from '../link/backoff.js';
import type { Reply } from './engine.js';
import type { LiveSession } from './session.js';
import type { CommandKind } from './stream.js';
import type { Timer } from './timers.js';
import { clear } from './timers.js';

/** Which locks to ask for, and how. */
export interface AcquireSpec {
  /** In byte order, each once. */
  names: readonly string[];
  mode: 'exclusive' | 'shared' | 'permits';
  /** 0 unless the mode is `permits`. */
  permits: number;
  /** 0: whatever the lock's limit is. */
  limit: number;
  priority: number;
  metadata: Readonly<Record<string, string>>;
  minHoldMs: number;
  stallAfterMs: number | undefined;
}

/** What came of asking: a hold, or somebody else has the locks. */
export type Outcome = { hold: HoldPresence } | { hold?: undefined; holder: Claim | undefined };

/** Who waits for a claim, and until when. */
interface Acquiring {
  waitUntil: Moment | undefined;
  reply: Reply<Outcome>;
}

type Stage =
  /** Waits for its turn among the claims of this session. */
  | { is: 'queued'; acquiring: Acquiring }
  /** The server is asked. */
  | { is: 'asking'; acquiring: Acquiring }
  | { is: 'held'; hold: HoldPresence }
  /** The server is asked to take it back. */
  | { is: 'releasing'; token: bigint; reply: Reply<void> | undefined }
  /** Nobody wants it any more, but the server is still asked for it: it was asked to answer that at once. */
  | { is: 'stopping' }
  /** Nobody wants it any more: the server is asked to forget it, whether it waits or was granted. */
  | { is: 'withdrawing' }
  | { is: 'over' };

const MODES = { exclusive: Mode.EXCLUSIVE, shared: Mode.SHARED, permits: Mode.PERMITS } as const;

export class ClaimEntry {
  private stage: Stage = { is: 'over' };
  private command: number | undefined;
  private refusal: RefusedError | undefined;
  private early: { token: bigint; notice: (claim: ClaimEntry, now: Moment) => void } | undefined;
  private timers: Timer[] = [];
  private readonly backoff = commandBackoff();

  constructor(
    private readonly session: LiveSession,
    readonly spec: AcquireSpec,
  ) {}

  get hold(): HoldPresence | undefined {
    return this.stage.is === 'held' ? this.stage.hold : undefined;
  }

  get isAsking(): boolean {
    return this.stage.is === 'asking';
  }

  /** Whether it claims exactly these, which are in byte order too. */
  isFor(names: readonly string[]): boolean {
    return names.length === this.spec.names.length && names.every((name, place) => name === this.spec.names[place]);
  }

  /** As somebody who asks for the same in the same session is told. */
  describe(): Claim {
    const { names, metadata, priority, minHoldMs, mode, permits, limit } = this.spec;
    const { stage } = this;
    const token = stage.is === 'held' ? stage.hold.token : stage.is === 'releasing' ? stage.token : undefined;
    return {
      id: 0n,
      names: [...names],
      state: token === undefined ? 'waiting' : 'held',
      ...(token !== undefined && { token }),
      sessionId: this.session.id,
      owner: this.session.owner,
      metadata,
      priority,
      minHoldMs,
      mode,
      ...(mode === 'permits' && { permits, limit }),
      deadlock: [],
    };
  }

  begin(isFirst: boolean, waitMs: number | undefined, answerMs: number, reply: Reply<Outcome>, now: Moment): void {
    const waitUntil = waitMs === undefined ? undefined : now + waitMs;
    this.stage = { is: isFirst ? 'asking' : 'queued', acquiring: { waitUntil, reply } };
    if (waitUntil !== undefined) {
      const { timers } = this.session.engine;
      this.timers = [
        timers.set(waitUntil, (now) => this.waitIsOver(now)),
        timers.set(waitUntil + answerMs, (now) => this.answerIsOverdue(now)),
      ];
    }
    this.send(now);
  }

  /** It is first among the claims of its session. */
  takeTurn(now: Moment): void {
    if (this.stage.is === 'queued') {
      this.stage = { is: 'asking', acquiring: this.stage.acquiring };
    }
    this.send(now);
  }

  detach(): void {
    this.command = undefined;
  }

  /** Says what the claim needs, if it needs anything and no answer is under way. */
  send(now: Moment): void {
    if (!this.session.isAttached || this.command !== undefined) {
      return;
    }
    const again = this.stage.is === 'asking' ? this.session.heldBackUntil(now) : undefined;
    if (again !== undefined) {
      this.session.engine.timers.set(again, (now) => this.send(now));
      return;
    }
    const kind = this.needs(now);
    if (kind === undefined) {
      return;
    }
    const isCurrent = () => this.command !== undefined && this.command === command;
    const command = this.session.engine.send(
      kind,
      {
        acquire: (answer, _sent, now) => isCurrent() && this.acquired(answer, now),
        release: (_answer, _sent, now) => isCurrent() && this.givenBack(now),
        cancelAcquire: (_answer, _sent, now) => isCurrent() && this.givenBack(now),
        // What was said before the session was moved does not count.
        refusal: (refusal, _sent, now) => isCurrent() && this.refused(RefusedError.from(refusal), now),
      },
      now,
    );
    this.command = command;
    if (command === undefined) {
      return;
    }
    if (this.stage.is === 'stopping') {
      this.stage = { is: 'withdrawing' };
    }
  }

  private needs(now: Moment): CommandKind | undefined {
    const { namespace } = this.session.engine;
    const { spec, stage } = this;
    const sessionId = this.session.id;
    const names = [...spec.names];
    switch (stage.is) {
      case 'asking': {
        const { waitUntil } = stage.acquiring;
        return {
          $case: 'acquire',
          value: {
            namespace,
            names,
            sessionId,
            ttl: undefined,
            wait: waitUntil === undefined ? undefined : toWire(Math.max(0, waitUntil - now)),
            priority: spec.priority,
            owner: '',
            metadata: new Map(Object.entries(spec.metadata)),
            minHold: spec.minHoldMs > 0 ? toWire(spec.minHoldMs) : undefined,
            disconnectGrace: undefined,
            mode: MODES[spec.mode],
            permits: spec.permits,
            limit: spec.limit,
            openedRevision: 0n,
          },
        };
      }
      case 'releasing':
        return { $case: 'release', value: { namespace, name: names[0] ?? '', sessionId, token: stage.token } };
      case 'stopping':
      case 'withdrawing':
        return { $case: 'cancelAcquire', value: { namespace, names, sessionId } };
      case 'queued':
      case 'held':
      case 'over':
        return undefined;
    }
  }

  private acquired(answer: AcquireResponse, now: Moment): void {
    this.command = undefined;
    if (this.stage.is === 'stopping') {
      if (answer.acquired) {
        this.send(now);
      } else {
        this.end(now);
      }
      return;
    }
    if (this.stage.is !== 'asking') {
      return;
    }
    const { waitUntil, reply } = this.stage.acquiring;
    if (answer.acquired) {
      this.granted(answer.token, reply, now);
    } else if (waitUntil === undefined) {
      // Nothing ends a wait without end but its client: so it is asked anew.
      this.sendLater(now);
    } else {
      this.end(now);
      reply.resolve({ holder: answer.holder && claimOf(answer.holder) });
    }
  }

  private granted(token: bigint, reply: Reply<Outcome>, now: Moment): void {
    const { stallAfterMs, names } = this.spec;
    const progress = stallAfterMs === undefined ? undefined : new Progress(stallAfterMs, now);
    if (progress !== undefined) {
      this.session.neededByHolds.add(progress);
    }
    const hold = new HoldPresence(this.session.presence, names, token, progress);
    this.stage = { is: 'held', hold };
    this.timers.forEach(clear);
    if (this.early?.token === token) {
      this.early.notice(this, now);
    }
    this.early = undefined;
    reply.resolve({ hold });
  }

  /** Keeps a notice about a hold of this token until it is known whether that is what is granted. */
  keepNotice(token: bigint, notice: (claim: ClaimEntry, now: Moment) => void): void {
    this.early = { token, notice };
  }

  /** A release or a withdrawal took effect. */
  private givenBack(now: Moment): void {
    const reply = this.stage.is === 'releasing' ? this.stage.reply : undefined;
    this.end(now);
    reply?.resolve();
  }

  private refused(refusal: RefusedError, now: Moment): void {
    if (this.session.endedBy(refusal, now)) {
      return;
    }
    const isForNow = this.session.engine.isForNow(refusal);
    if (refusal.reason === 'NOT_ATTACHED') {
      this.session.moved(now);
      return;
    }
    this.command = undefined;
    const { stage } = this;
    if (stage.is === 'stopping') {
      // Whatever the refusal says: it was about the acquire.
      this.send(now);
      return;
    }
    // The server gave the place in the queue up because it did not see this client in time: it is still wanted.
    const isUnseen = refusal.reason === 'CLAIM_ENDED' && refusal.endReason === 'disconnected' && stage.is === 'asking';
    if (isForNow || isUnseen) {
      this.refusal = refusal;
      this.sendLater(now);
      return;
    }
    this.end(now);
    if (stage.is === 'asking') {
      stage.acquiring.reply.reject(refusal);
    } else if (stage.is === 'releasing') {
      stage.reply?.reject(refusal.ofRelease());
    }
  }

  private sendLater(now: Moment): void {
    this.session.engine.timers.set(now + this.backoff.nextPause(), (now) => this.send(now));
  }

  /** Gives the hold back. */
  release(reply: Reply<void> | undefined, giveUp: Moment, now: Moment): void {
    if (this.stage.is !== 'held') {
      // It ended between the asking and now.
      reply?.reject(new LostError({ reason: 'forgotten' }));
      return;
    }
    const { hold } = this.stage;
    hold.end({ reason: 'released' });
    this.needsProgressNoMore(hold);
    this.stage = { is: 'releasing', token: hold.token, reply };
    this.timers = [this.session.engine.timers.set(giveUp, () => this.releaseIsOverdue())];
    this.send(now);
  }

  private releaseIsOverdue(): void {
    if (this.stage.is === 'releasing') {
      // It is tried further, only nobody waits for it.
      this.stage.reply?.reject(this.session.engine.inVain(this.refusal));
      this.stage.reply = undefined;
    }
  }

  /** Nobody wants the claim any more, wherever it stands. */
  drop(now: Moment): void {
    switch (this.stage.is) {
      case 'queued':
        this.end(now);
        return;
      case 'asking':
        this.withdraw(now);
        return;
      case 'held':
        this.release(undefined, now, now);
        return;
      case 'releasing':
      case 'stopping':
      case 'withdrawing':
      case 'over':
    }
  }

  /** Asks the server to forget a claim that it was asked for. */
  private withdraw(now: Moment): void {
    this.stage = { is: 'stopping' };
    this.timers.forEach(clear);
    // An acquire that is under way has to come to its end first, lest it be granted after it was given up.
    if (this.command === undefined) {
      this.send(now);
    } else {
      this.session.engine.cancel(this.command);
    }
  }

  private waitIsOver(now: Moment): void {
    if (this.stage.is === 'queued') {
      const { reply } = this.stage.acquiring;
      const holder = this.session.claims.turns.firstInWay(this.spec.names)?.describe();
      this.end(now);
      reply.resolve({ holder });
    }
  }

  private answerIsOverdue(now: Moment): void {
    if (this.stage.is === 'asking') {
      const { reply } = this.stage.acquiring;
      const error = this.session.engine.inVain(this.refusal);
      this.withdraw(now);
      reply.reject(error);
    }
  }

  /** The server has ended the hold. */
  endHold(lost: LostReason, now: Moment): void {
    const { hold } = this;
    if (hold !== undefined) {
      this.end(now);
      hold.end(lost);
    }
  }

  /** The session is lost. */
  lose(lost: LostReason): void {
    const { stage } = this;
    this.over();
    if (stage.is === 'queued' || stage.is === 'asking') {
      stage.acquiring.reply.reject(new LostError(lost));
    } else if (stage.is === 'held') {
      stage.hold.end(lost);
    } else if (stage.is === 'releasing') {
      stage.reply?.reject(new LostError(lost));
    }
  }

  /** The claim is over: the next ones have their turn. */
  private end(now: Moment): void {
    this.over();
    this.session.claims.left(this, now);
  }

  private over(): void {
    if (this.hold !== undefined) {
      this.needsProgressNoMore(this.hold);
    }
    this.timers.forEach(clear);
    this.stage = { is: 'over' };
  }

  private needsProgressNoMore(hold: HoldPresence): void {
    if (hold.progress !== undefined) {
      this.session.neededByHolds.delete(hold.progress);
    }
  }
}
