import { describe, expect, it } from 'vitest';
import { now as clockNow } from '../../src/clock.js';
import { toWire } from '../../src/convert.js';
import { LostError, RefusedError, UnavailableError } from '../../src/errors.js';
import { Claim, ClaimState, EndReason } from '../../src/generated/tenure/v1/session.js';
import { Answer, attached, Bench, BUSY, CALL, evicted, granted, held, TTL } from '../support/bench.js';

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
