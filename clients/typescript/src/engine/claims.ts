// The claims of one session: their local queue, and what the server tells of all of them.
import type { Moment } from '../clock.js';
import { endReasonOf, fromWire, optional } from '../convert.js';
import type { LostReason } from '../errors.js';
import { LostError, RefusedError } from '../errors.js';
import type { Claim } from '../generated/tenure/v1/session.js';
import { ClaimState } from '../generated/tenure/v1/session.js';
import type { HoldEnded, TransferRequested } from '../generated/tenure/v1/stream.js';
import { TransferRequest } from '../handoff.js';
import type { AcquireSpec, Outcome } from './claim.js';
import { ClaimEntry } from './claim.js';
import type { Reply } from './engine.js';
import type { LiveSession } from './session.js';
import type { CommandKind } from './stream.js';
import { Turns } from './turns.js';

export class Claims {
  readonly turns = new Turns<ClaimEntry>();
  private readonly entries = new Set<ClaimEntry>();

  constructor(private readonly session: LiveSession) {}

  acquire(
    spec: AcquireSpec,
    waitMs: number | undefined,
    answerMs: number,
    reply: Reply<Outcome>,
    now: Moment,
  ): ClaimEntry {
    const claim = new ClaimEntry(this.session, spec);
    const lost = this.session.presence.lostReason(now);
    if (lost !== undefined || this.session.isOver) {
      reply.reject(new LostError(lost ?? { reason: 'forgotten' }));
      return claim;
    }
    const inWay = this.turns.firstInWay(spec.names);
    if (waitMs === 0 && inWay !== undefined) {
      reply.resolve({ holder: inWay.describe() });
      return claim;
    }
    this.entries.add(claim);
    const isFirst = this.turns.join(claim, spec.names);
    claim.begin(isFirst, waitMs, answerMs, reply, now);
    return claim;
  }

  /** A claim is over: the next ones have their turn. */
  left(claim: ClaimEntry, now: Moment): void {
    this.entries.delete(claim);
    for (const next of this.turns.leave(claim, claim.spec.names)) {
      if (this.turns.isFirst(next, next.spec.names)) {
        next.takeTurn(now);
      }
    }
  }

  detach(): void {
    this.entries.forEach((claim) => claim.detach());
  }

  /** The session was attached: says all that its claims need. */
  send(now: Moment): void {
    [...this.entries].forEach((claim) => claim.send(now));
  }

  lose(lost: LostReason): void {
    const claims = [...this.entries];
    this.entries.clear();
    claims.forEach((claim) => claim.lose(lost));
  }

  /** Compares what the server knows, as of `revision`, with what is known here. */
  compare(known: readonly Claim[], revision: bigint, now: Moment): void {
    const held = new Map(known.filter(({ state }) => state === ClaimState.HELD).map((claim) => [claim.token, claim]));
    for (const claim of [...this.entries]) {
      const { hold } = claim;
      if (hold === undefined) {
        continue;
      }
      const pending = held.get(hold.token)?.transfer;
      if (!held.has(hold.token) && hold.token <= revision) {
        // One that was granted after that revision the answer could not know of yet.
        claim.endHold({ reason: 'forgotten' }, now);
      } else if (pending !== undefined && hold.transfer.value === undefined) {
        const drain = pending.drain === undefined ? 0 : fromWire(pending.drain);
        hold.transfer.set(new TransferRequest(drain, now));
      }
    }
    const isKnownHere = (stray: Claim) => [...this.entries].some((claim) => claim.isFor(stray.names));
    known.filter((stray) => !isKnownHere(stray)).forEach((stray) => this.giveBack(stray, now));
  }

  /** Gives back what nobody here holds or asks for: it was given back before, but the database has lost that. */
  private giveBack(stray: Claim, now: Moment): void {
    const { engine, id: sessionId } = this.session;
    const { namespace } = engine;
    const { names, token } = stray;
    const kinds: Partial<Record<ClaimState, CommandKind>> = {
      [ClaimState.HELD]: { $case: 'release', value: { namespace, name: names[0] ?? '', sessionId, token } },
      [ClaimState.WAITING]: { $case: 'cancelAcquire', value: { namespace, names, sessionId } },
    };
    const kind = kinds[stray.state];
    if (kind === undefined) {
      return;
    }
    const done = () => undefined;
    const refusal = (told: Parameters<typeof RefusedError.from>[0], _sent: Moment, now: Moment) => {
      const refused = RefusedError.from(told);
      // What another refusal leaves behind is looked at again when the session is attached again.
      if (!this.session.endedBy(refused, now) && (engine.isForNow(refused) || refused.reason === 'NOT_ATTACHED')) {
        this.session.moved(now);
      }
    };
    engine.send(kind, { release: done, cancelAcquire: done, refusal }, now);
  }

  holdEnded(ended: HoldEnded, now: Moment): void {
    this.tell(ended.names, ended.token, now, (claim, now) =>
      claim.endHold(
        {
          reason: 'ended',
          endReason: endReasonOf(ended.reason),
          ...(ended.operator !== '' && { operator: ended.operator }),
          ...(ended.note !== '' && { note: ended.note }),
        },
        now,
      ),
    );
  }

  transferRequested(request: TransferRequested, now: Moment): void {
    const drain = request.drain === undefined ? 0 : fromWire(request.drain);
    const asked = new TransferRequest(drain, now, optional(request.operator), optional(request.note));
    this.tell(request.names, request.token, now, (claim) => claim.hold?.transfer.set(asked));
  }

  /**
   * Tells a hold what the server says of it. One that is not known here may just be about to be: answers and notices come by
   * different ways through the server, and the one may overtake the other. Then it is kept until that is known.
   */
  private tell(
    names: readonly string[],
    token: bigint,
    now: Moment,
    notice: (claim: ClaimEntry, now: Moment) => void,
  ): void {
    const claims = [...this.entries];
    const holding = claims.find((claim) => claim.hold?.token === token);
    if (holding === undefined) {
      claims.find((claim) => claim.isAsking && claim.isFor(names))?.keepNotice(token, notice);
    } else {
      notice(holding, now);
    }
  }
}
