import { describe, expect, it } from 'vitest';
import { LostError, UnavailableError } from '../../src/errors.js';
import { Bench, CALL, kept, TTL } from '../support/bench.js';

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

  it('are opened, attached and closed in the name of their client', () => {
    const bench = new Bench();
    const answer = bench.open('a');
    const [command, opening] = bench.saidOnce('openSession');
    expect(opening.clientId).toBe('program-1');
    bench.opened(command, 'a');
    bench.reconnect();
    expect(bench.saidOnce('attachSession')[1].clientId).toBe('program-1');
    answer.value?.close(bench.now);
    expect(bench.saidOnce('closeSession')[1].clientId).toBe('program-1');
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

  it('whose id another program uses are lost, and not closed', () => {
    const bench = new Bench();
    const session = bench.session('a');
    bench.reconnect();
    bench.refuse(bench.saidOnce('attachSession')[0], 'SESSION_IN_USE');
    expect(session.presence.lostReason(bench.now)).toEqual({ reason: 'in_use' });
    expect(bench.said()).toEqual([]);
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

  it('without progress are renewed within their grace once there is some again', () => {
    const bench = new Bench();
    const session = bench.session('a', { disconnectGraceMs: 300, stallAfterMs: 500 });
    bench.passRenewing(560);
    session.progress?.tick(bench.now);
    // Eight looks to a third of the grace.
    expect(bench.passRenewing(20)).toBe(1);
  });
});
