import { describe, expect, it } from 'vitest';
import { now as clockNow } from '../../src/clock.js';
import type { AnswerKind } from '../../src/engine/stream.js';
import { ClosedError, LostError, RefusedError, UnavailableError } from '../../src/errors.js';
import { Claim, ClaimState, EndReason } from '../../src/generated/tenure/v1/session.js';
import { Answer, attached, Bench, BUSY, CALL, evicted, granted, held, kept, TTL } from '../support/bench.js';
import { toWire } from '../../src/convert.js';

describe('refused credentials', () => {
  const REFUSED = new RefusedError('UNAUTHENTICATED', 'the token is not known', { rule: 'known-token' });

  it('are told to whoever waits for a session to be opened, and only to them', () => {
    const bench = new Bench();
    const session = bench.session('open');
    const asked = bench.open('asked');
    bench.saidOnce('openSession');
    bench.engine.disconnected('gone');
    const unasked = bench.open('unasked');
    bench.engine.trouble(REFUSED, bench.now);
    expect([asked.error, unasked.error]).toEqual([REFUSED, REFUSED]);
    expect(session.presence.check(bench.now).state).toBe('healthy');

    bench.engine.connected(bench.now);
    const said = bench.said().map(({ kind }) => [kind.$case, (kind.value as { sessionId?: string }).sessionId]);
    expect(said, 'who was asked for may be open').toEqual([
      ['attachSession', 'open'],
      ['closeSession', 'asked'],
    ]);
  });

  it('leave nothing to be closed', () => {
    const bench = new Bench();
    bench.engine.disconnected('gone');
    bench.open('unasked');
    bench.engine.trouble(REFUSED, bench.now);
    const closed = new Answer<void>();
    bench.engine.shutDown(bench.now + CALL, closed, bench.now);
    expect(bench.engine.takeShutDown()).toBe(true);
    expect(closed).toMatchObject({ isThere: true, error: undefined });
  });

  it('are not what a server that is away is taken for', () => {
    const bench = new Bench();
    bench.engine.disconnected('gone');
    const answer = bench.open('a');
    bench.engine.trouble(new UnavailableError('nobody listens'), bench.now);
    expect(answer.isThere).toBe(false);
    bench.pass(CALL);
    expect(answer.error).toEqual(new UnavailableError('nobody listens'));
  });
});

describe('sessions', () => {
  it('are renewed together at a third of the TTL', () => {
    const bench = new Bench();
    bench.session('a');
    bench.pass(50);
    bench.session('b');
    bench.pass(TTL / 3 - 51);
    bench.saysNothing();
    bench.pass(1);
    expect(bench.saidOnce('keepAlive')[1].sessionIds).toEqual(['a', 'b']);
  });

  it('leave a server that does not answer a renewal while there is time', () => {
    const bench = new Bench();
    const session = bench.session('a');
    bench.pass(TTL / 3 + TTL / 4 - 1);
    expect(bench.engine.takeVerdict()).toBeUndefined();
    bench.pass(1);
    expect(bench.engine.takeVerdict()).toBe('broken');
    expect(session.presence.check(bench.now).state).toBe('healthy');
  });

  it('are kept by renewals and ended by silence', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const { hold } = bench.hold(session, 7n);
    expect(bench.passRenewing(10 * TTL)).toBeGreaterThan(25);
    expect(session.presence.check(bench.now).state).toBe('healthy');
    bench.pass(TTL);
    expect(session.presence.lostReason(bench.now)).toEqual({ reason: 'expired' });
    expect(hold.ended.value).toEqual({ reason: 'expired' });
    expect(hold.signal.aborted).toBe(true);
    expect(hold.signal.reason).toBeInstanceOf(LostError);
    const last = bench.said().at(-1);
    expect(last?.kind.$case, 'so that others need not wait').toBe('closeSession');
  });

  it('whose TTL becomes shorter are renewed earlier', () => {
    const bench = new Bench();
    bench.session('a');
    bench.pass(TTL / 3);
    const [command] = bench.saidOnce('keepAlive');
    bench.hear(command, kept(['a'], 600));
    // What was promised before stands, but the next renewal goes by the new TTL.
    bench.pass(200);
    bench.saidOnce('keepAlive');
  });

  it('are attached again on each stream, counting', () => {
    const bench = new Bench();
    bench.session('a');
    bench.reconnect();
    expect(bench.saidOnce('attachSession')[1]).toMatchObject({ sessionId: 'a', attachment: 2n });
    bench.reconnect();
    const [command, again] = bench.saidOnce('attachSession');
    expect(again.attachment).toBe(3n);
    bench.refuse(command, 'LATE_ATTACHMENT', { attachment: '9' });
    bench.pass(20);
    expect(bench.saidOnce('attachSession')[1].attachment).toBe(10n);
  });

  it('that were moved are attached again, and old answers do not count', () => {
    const bench = new Bench();
    const session = bench.session('a');
    bench.pass(TTL / 3);
    const [renewal] = bench.saidOnce('keepAlive');
    const until = session.presence.until;
    bench.hear(0n, { $case: 'sessionMoved', value: { sessionId: 'a' } });
    bench.hear(renewal, kept(['a']));
    expect(session.presence.until).toBe(until);
    bench.pass(20);
    bench.saidOnce('attachSession');
  });

  it('that the server does not know are lost', () => {
    const bench = new Bench();
    const session = bench.session('a');
    bench.reconnect();
    bench.refuse(bench.saidOnce('attachSession')[0], 'SESSION_NOT_FOUND');
    expect(session.presence.lostReason(bench.now)).toEqual({ reason: 'forgotten' });
  });

  it('with a grace are renewed and lost by it', () => {
    const bench = new Bench();
    const session = bench.session('a', { disconnectGraceMs: 300 });
    bench.pass(99);
    bench.saysNothing();
    bench.pass(1);
    bench.saidOnce('keepAlive');
    bench.pass(300 - 3 - 15 - 101);
    expect(session.isOver).toBe(false);
    bench.pass(1);
    expect(session.presence.lostReason(bench.now)).toEqual({ reason: 'expired' });
  });

  it('are opened once those of the same id are closed', () => {
    const bench = new Bench();
    bench.session('a').close(bench.now);
    const [close] = bench.saidOnce('closeSession');
    const answer = bench.open('a');
    bench.saysNothing();
    bench.hear(close, { $case: 'closeSession', value: {} });
    bench.opened(bench.saidOnce('openSession')[0], 'a');
    expect(answer.value?.isAttached).toBe(true);
  });

  it('that could not be opened in time are closed all the same', () => {
    const bench = new Bench();
    const answer = bench.open('a');
    bench.saidOnce('openSession');
    bench.pass(CALL);
    expect(answer.error).toBeInstanceOf(UnavailableError);
    bench.saidOnce('closeSession');
  });

  it('without progress are at risk and then lost', () => {
    const bench = new Bench();
    const session = bench.session('a', { stallAfterMs: 500 });
    bench.passRenewing(499);
    bench.passRenewing(800);
    expect(session.presence.check(bench.now).state).toBe('at_risk');
    session.progress?.tick(bench.now);
    expect(bench.passRenewing(100), 'there is progress again').toBeGreaterThan(0);
    expect(session.presence.check(bench.now).state).toBe('healthy');
    bench.passRenewing(500 + TTL);
    expect(session.presence.lostReason(bench.now)).toEqual({ reason: 'stalled' });
  });
});

describe('servers', () => {
  it('that go away are left', () => {
    const bench = new Bench();
    bench.hear(0n, { $case: 'goingAway', value: { grace: toWire(1000) } });
    expect(bench.engine.takeVerdict()).toBe('leave');
    expect(bench.engine.takeVerdict()).toBeUndefined();
  });

  it('that refuse for now three times running are left, unless they serve a session', () => {
    for (const serves of [false, true]) {
      const bench = new Bench();
      if (serves) {
        bench.session('b');
      }
      bench.open('a');
      for (let tries = 0; tries < 3; tries += 1) {
        expect(bench.engine.takeVerdict()).toBeUndefined();
        bench.refuse(bench.saidOnce('openSession')[0], 'STORE_UNAVAILABLE');
        bench.pass(100);
      }
      expect(bench.engine.takeVerdict()).toBe(serves ? undefined : 'leave');
    }
  });

  it('that answer what was not asked are broken', () => {
    const bench = new Bench();
    bench.open('a');
    bench.hear(bench.saidOnce('openSession')[0], kept([]));
    expect(bench.engine.takeVerdict()).toBe('broken');
  });
});

describe('claims', () => {
  it('are granted, released, and told so', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const { claim, hold } = bench.hold(session, 7n);
    expect(hold.lostReason(bench.now)).toBeUndefined();
    const reply = new Answer<void>();
    claim.release(reply, bench.now + CALL, bench.now);
    expect(hold.lostReason(bench.now), 'from the moment of asking').toEqual({ reason: 'released' });
    const [command, release] = bench.saidOnce('release');
    expect(release).toMatchObject({ name: 'job', token: 7n });
    bench.hear(command, { $case: 'release', value: { revision: 8n } });
    expect(reply.isThere && reply.error === undefined).toBe(true);
  });

  it('are released again until that is answered', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const { claim } = bench.hold(session, 7n);
    const reply = new Answer<void>();
    claim.release(reply, bench.now + CALL, bench.now);
    bench.saidOnce('release');
    bench.reconnect();
    bench.hear(bench.saidOnce('attachSession')[0], attached('a', [], 9n));
    bench.hear(bench.saidOnce('release')[0], { $case: 'release', value: { revision: 8n } });
    expect(reply).toMatchObject({ isThere: true, error: undefined });
  });

  it('that only the server knows to be lost are told so when they are released', () => {
    const bench = new Bench();
    const { claim } = bench.hold(bench.session('a'), 7n);
    const reply = new Answer<void>();
    claim.release(reply, bench.now + CALL, bench.now);
    bench.refuse(bench.saidOnce('release')[0], 'HOLD_ENDED', { end_reason: 'evicted' });
    expect(reply.error).toMatchObject({ code: 'LOST', lost: { reason: 'ended', endReason: 'evicted' } });
  });

  it('of one session take turns for one name', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const first = bench.hold(session, 7n);
    const tried = bench.acquire(session, 0);
    expect(tried.answer.value).toMatchObject({ holder: { token: 7n, sessionId: 'a' } });
    const second = bench.acquire(session);
    const third = bench.acquire(session, 50);
    bench.saysNothing();
    bench.pass(50);
    expect(third.answer.value?.hold).toBeUndefined();
    expect(third.answer.isThere).toBe(true);
    first.claim.release(undefined, bench.now, bench.now);
    bench.hear(bench.saidOnce('release')[0], { $case: 'release', value: { revision: 8n } });
    bench.hear(bench.saidOnce('acquire')[0], granted(9n));
    expect(second.answer.value?.hold?.token).toBe(9n);
  });

  it('that wait are asked for again with what is left of the wait', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const { answer } = bench.acquire(session, 1000);
    expect(bench.saidOnce('acquire')[1].wait).toEqual(toWire(1000));
    bench.pass(300);
    bench.reconnect();
    bench.hear(bench.saidOnce('attachSession')[0], attached('a', [], 5n));
    const [command, again] = bench.saidOnce('acquire');
    expect(again.wait).toEqual(toWire(700));
    bench.hear(command, BUSY);
    expect(answer).toMatchObject({ isThere: true, error: undefined, value: { holder: undefined } });
  });

  it('that are given up end before they are withdrawn', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const { claim } = bench.acquire(session);
    const [command] = bench.saidOnce('acquire');
    claim.drop(bench.now);
    expect(bench.saidOnce('cancel')[1].commandId).toBe(command);
    bench.hear(command, granted(7n));
    const [withdrawal] = bench.saidOnce('cancelAcquire');
    bench.acquire(session);
    bench.saysNothing();
    bench.hear(withdrawal, { $case: 'cancelAcquire', value: { revision: 8n } });
    bench.saidOnce('acquire');
  });

  it('are withdrawn when no answer comes in time', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const { answer } = bench.acquire(session, 0);
    bench.said();
    bench.passRenewing(CALL);
    expect(answer.error).toBeInstanceOf(UnavailableError);
  });

  it('that are refused for now are asked for again', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const { answer } = bench.acquire(session);
    bench.refuse(bench.saidOnce('acquire')[0], 'OVERLOADED');
    bench.pass(20);
    bench.refuse(bench.saidOnce('acquire')[0], 'CLAIM_ENDED', { end_reason: 'disconnected' });
    bench.pass(40);
    bench.refuse(bench.saidOnce('acquire')[0], 'LIMIT_MISMATCH');
    expect(answer.error).toBeInstanceOf(RefusedError);
  });

  it('whose hold is not there any more are lost on attaching, but not those granted since', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const { hold: old } = bench.hold(session, 7n);
    const { hold: young } = bench.hold(session, 12n, { names: ['other'] });
    bench.reconnect();
    bench.hear(bench.saidOnce('attachSession')[0], attached('a', [], 10n));
    expect(old.ended.value).toEqual({ reason: 'forgotten' });
    expect(young.ended.value).toBeUndefined();
  });

  it('that nobody here knows are given back', () => {
    const bench = new Bench();
    bench.session('a');
    bench.reconnect();
    const waiting = Claim.fromPartial({ names: ['w'], state: ClaimState.WAITING });
    bench.hear(bench.saidOnce('attachSession')[0], attached('a', [held('h', 3n), waiting], 10n));
    expect(bench.said().map(({ kind }) => kind)).toMatchObject([
      { $case: 'release', value: { name: 'h', token: 3n } },
      { $case: 'cancelAcquire', value: { names: ['w'] } },
    ]);
  });

  it('are ended by an operator', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const { hold } = bench.hold(session, 7n);
    bench.hear(0n, evicted('a', 7n));
    expect(hold.ended.value).toEqual({ reason: 'ended', endReason: 'evicted', operator: 'ann', note: 'stuck' });
    bench.hold(session, 9n);
  });

  it('may be told to have ended before they are told to be granted', () => {
    const bench = new Bench();
    const session = bench.session('a');
    for (const [told, isOver] of [
      [7n, true],
      [3n, false],
    ] as const) {
      const { claim, answer } = bench.acquire(session);
      const [command] = bench.saidOnce('acquire');
      bench.hear(0n, evicted('a', told));
      bench.hear(command, granted(isOver ? 7n : 8n));
      expect(answer.value?.hold?.ended.value !== undefined).toBe(isOver);
      claim.drop(bench.now);
    }
  });

  it('are asked to be handed over', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const { hold } = bench.hold(session, 7n);
    const value = { sessionId: 'a', names: ['job'], token: 7n, drain: toWire(1000), operator: 'ann', note: '' };
    bench.now = clockNow();
    bench.hear(0n, { $case: 'transferRequested', value });
    expect(hold.transfer.value).toMatchObject({ drainMs: 1000, operator: 'ann', note: undefined });
    expect(hold.transfer.value?.remainingMs).toBeLessThanOrEqual(800);
  });

  it('end with their session', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const { hold } = bench.hold(session, 7n);
    const { answer } = bench.acquire(session);
    bench.hear(0n, { $case: 'sessionEnded', value: { sessionId: 'a', reason: EndReason.EXPIRED } });
    expect(hold.ended.value).toEqual({ reason: 'ended', endReason: 'expired' });
    expect(answer.error).toBeInstanceOf(LostError);
    bench.saysNothing();
  });

  it('without progress cost the session', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const { hold } = bench.hold(session, 7n, { stallAfterMs: 300 });
    for (let passed = 0; passed < 3000; passed += 100) {
      hold.progress?.tick(bench.now);
      bench.passRenewing(100);
    }
    expect(hold.ended.value).toBeUndefined();
    bench.passRenewing(300 + TTL);
    expect(hold.ended.value).toEqual({ reason: 'stalled' });
  });
});

describe('watches', () => {
  const progress = (revision: bigint) =>
    ({ $case: 'watch', value: { revision, kind: { $case: 'progress', value: {} } } }) as const;

  it('are resumed after what was told last', () => {
    const bench = new Bench();
    const watched = bench.engine.watch({ names: ['job'] }, bench.now);
    bench.hear(bench.saidOnce('watch')[0], progress(5n));
    bench.reconnect();
    expect(bench.saidOnce('watch')[1].afterRevision).toBe(5n);
    expect(watched.take(bench.now)).toEqual({ kind: 'progress', revision: 5n });
    watched.end();
    bench.saidOnce('cancel');
  });

  it('put the parts of a snapshot together', () => {
    const bench = new Bench();
    const watched = bench.engine.watch({}, bench.now);
    const [command] = bench.saidOnce('watch');
    const part = (more: boolean): AnswerKind => ({
      $case: 'watch',
      value: { revision: 5n, kind: { $case: 'snapshot', value: { locks: [], groups: [], more } } },
    });
    bench.hear(command, part(true));
    expect(watched.take(bench.now)).toBeUndefined();
    bench.hear(command, part(false));
    expect(watched.take(bench.now)).toMatchObject({ kind: 'snapshot', revision: 5n });
  });

  it('of a reader that is behind are stopped, and miss nothing', () => {
    const bench = new Bench();
    const watched = bench.engine.watch({}, bench.now);
    const [command] = bench.saidOnce('watch');
    for (let revision = 1n; revision <= 70n; revision += 1n) {
      bench.hear(command, progress(revision));
    }
    bench.saidOnce('cancel');
    for (let revision = 1n; revision <= 64n; revision += 1n) {
      bench.saysNothing();
      expect(watched.take(bench.now)).toEqual({ kind: 'progress', revision });
    }
    expect(bench.saidOnce('watch')[1].afterRevision).toBe(64n);
  });

  it('end with what trying again cannot cure', () => {
    const bench = new Bench();
    const watched = bench.engine.watch({}, bench.now);
    bench.refuse(bench.saidOnce('watch')[0], 'DRAINING');
    bench.pass(20);
    bench.refuse(bench.saidOnce('watch')[0], 'INVALID_FIELD');
    expect(watched.ended?.error).toBeInstanceOf(RefusedError);
  });
});

describe('shutting down', () => {
  it('closes what is open, and lets nothing in', () => {
    const bench = new Bench();
    const session = bench.session('a');
    const opening = bench.open('b');
    bench.said();
    const reply = new Answer<void>();
    bench.engine.shutDown(bench.now + CALL, reply, bench.now);
    expect(session.presence.lostReason(bench.now)).toEqual({ reason: 'closed' });
    expect(opening.error).toBeInstanceOf(ClosedError);
    expect(bench.open('c').error).toBeInstanceOf(ClosedError);
    expect(bench.engine.takeShutDown()).toBe(false);
    for (const { id, kind } of bench.said()) {
      expect(kind.$case).toBe('closeSession');
      bench.hear(id, { $case: 'closeSession', value: {} });
    }
    expect(bench.engine.takeShutDown()).toBe(true);
    expect(reply.isThere).toBe(true);
  });
});
