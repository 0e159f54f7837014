// An engine against a scripted server, and its time.
import { expect } from 'vitest';
import type { AcquireSpec, ClaimEntry, Outcome } from '../../src/engine/claim.js';
import type { Reply } from '../../src/engine/engine.js';
import { Engine } from '../../src/engine/engine.js';
import type { OpenOptions } from '../../src/engine/opening.js';
import type { LiveSession } from '../../src/engine/session.js';
import type { AnswerKind, CommandKind } from '../../src/engine/stream.js';
import type { TenureError } from '../../src/errors.js';
import {
  Claim,
  ClaimState,
  EndReason,
  KeepAliveResponse,
  OpenSessionResponse,
  Refusal,
  Session,
} from '../../src/generated/tenure/v1/session.js';
import { AcquireResponse } from '../../src/generated/tenure/v1/lock.js';
import { AttachedSession, HoldEnded } from '../../src/generated/tenure/v1/stream.js';
import { toWire } from '../../src/convert.js';
import type { HoldPresence } from '../../src/presence.js';

export const TTL = 1200;
export const CALL = 5000;

/** Where an answer arrives. */
export class Answer<T> implements Reply<T> {
  value: T | undefined;
  error: TenureError | undefined;
  isThere = false;

  resolve(value: T): void {
    this.value = value;
    this.isThere = true;
  }

  reject(error: TenureError): void {
    this.error = error;
    this.isThere = true;
  }
}

export type Said<C extends CommandKind['$case']> = Extract<CommandKind, { $case: C }>['value'];

export class Bench {
  readonly engine = new Engine('default', 'program-1');
  now = 1_000_000;

  constructor() {
    this.engine.connected(this.now);
  }

  /** Lets time pass, doing what is due when it is. */
  pass(milliseconds: number): void {
    const until = this.now + milliseconds;
    for (let next = this.engine.nextDeadline; next !== undefined && next <= until; next = this.engine.nextDeadline) {
      this.now = Math.max(this.now, next);
      this.engine.due(this.now);
    }
    this.now = until;
  }

  said(): { id: bigint; kind: CommandKind }[] {
    return this.engine.takeOutgoing(Infinity).flatMap(({ id, kind }) => (kind === undefined ? [] : [{ id, kind }]));
  }

  /** The only thing said, which is this. */
  saidOnce<C extends CommandKind['$case']>(expected: C): [bigint, Said<C>] {
    const said = this.said();
    expect(said.map(({ kind }) => kind.$case)).toEqual([expected]);
    const [only] = said;
    return [only?.id ?? 0n, only?.kind.value as Said<C>];
  }

  saysNothing(): void {
    expect(this.said()).toEqual([]);
  }

  hear(id: bigint, kind: AnswerKind): void {
    this.engine.received({ answers: [{ id, kind }] }, this.now);
  }

  refuse(id: bigint, reason: string, metadata: Record<string, string> = {}): void {
    this.hear(id, {
      $case: 'refusal',
      value: Refusal.fromPartial({ reason, metadata: new Map(Object.entries(metadata)) }),
    });
  }

  open(id: string, options: Partial<OpenOptions> = {}): Answer<LiveSession> {
    const answer = new Answer<LiveSession>();
    const defaults = { ttlMs: TTL, disconnectGraceMs: undefined, owner: '', metadata: {}, stallAfterMs: undefined };
    this.engine.open({ id, ...defaults, ...options }, this.now + CALL, answer, this.now);
    return answer;
  }

  session(id: string, options: Partial<OpenOptions> = {}): LiveSession {
    const answer = this.open(id, options);
    const [command] = this.saidOnce('openSession');
    this.opened(command, id, options.disconnectGraceMs);
    return answer.value as LiveSession;
  }

  opened(command: bigint, id: string, grace?: number): void {
    const disconnectGrace = grace === undefined ? undefined : toWire(grace);
    const session = Session.fromPartial({ id, ttl: toWire(TTL), disconnectGrace });
    this.hear(command, { $case: 'openSession', value: OpenSessionResponse.fromPartial({ session }) });
  }

  acquire(
    session: LiveSession,
    waitMs?: number,
    spec: Partial<AcquireSpec> = {},
  ): { claim: ClaimEntry; answer: Answer<Outcome> } {
    const answer = new Answer<Outcome>();
    const defaults = {
      names: ['job'],
      mode: 'exclusive' as const,
      permits: 0,
      limit: 0,
      priority: 0,
      metadata: {},
      minHoldMs: 0,
      stallAfterMs: undefined,
    };
    const claim = session.acquire({ ...defaults, ...spec }, waitMs, CALL, answer, this.now);
    return { claim, answer };
  }

  hold(
    session: LiveSession,
    token: bigint,
    spec: Partial<AcquireSpec> = {},
  ): { claim: ClaimEntry; hold: HoldPresence } {
    const { claim, answer } = this.acquire(session, undefined, spec);
    const [command] = this.saidOnce('acquire');
    this.hear(command, granted(token));
    return { claim, hold: answer.value?.hold as HoldPresence };
  }

  reconnect(): void {
    this.engine.disconnected('gone');
    this.engine.connected(this.now);
  }

  /** Answers all renewals while time passes. Answers how many there were. */
  passRenewing(milliseconds: number): number {
    const until = this.now + milliseconds;
    let renewals = 0;
    while (this.now < until) {
      this.pass(Math.min(10, until - this.now));
      for (const { id, kind } of this.said()) {
        if (kind.$case === 'keepAlive') {
          renewals += 1;
          this.hear(id, kept(kind.value.sessionIds));
        }
      }
    }
    return renewals;
  }
}

export function granted(token: bigint): AnswerKind {
  return { $case: 'acquire', value: AcquireResponse.fromPartial({ acquired: true, token }) };
}

export const BUSY: AnswerKind = { $case: 'acquire', value: AcquireResponse.fromPartial({}) };

export function kept(ids: string[], ttl = TTL): AnswerKind {
  const sessions = ids.map((sessionId) => ({ sessionId, ttl: toWire(ttl) }));
  return { $case: 'keepAlive', value: KeepAliveResponse.fromPartial({ sessions }) };
}

export function held(name: string, token: bigint): Claim {
  return Claim.fromPartial({ names: [name], token, state: ClaimState.HELD });
}

export function attached(id: string, claims: Claim[], revision: bigint, grace?: number): AnswerKind {
  const disconnectGrace = grace === undefined ? undefined : toWire(grace);
  const session = Session.fromPartial({ id, ttl: toWire(TTL), claims, disconnectGrace });
  return { $case: 'attachedSession', value: AttachedSession.fromPartial({ session, revision }) };
}

export function evicted(sessionId: string, token: bigint): AnswerKind {
  const value = HoldEnded.fromPartial({
    sessionId,
    names: ['job'],
    token,
    reason: EndReason.EVICTED,
    operator: 'ann',
    note: 'stuck',
  });
  return { $case: 'holdEnded', value };
}
