// How long sessions are valid.
import { describe, expect, it } from 'vitest';
import { toWire } from '../../../src/convert.js';
import { EndReason } from '../../../src/v1.js';
import { Bench, changesIn, ended, lost, opened, RENEW_AFTER, VALID_FOR } from '../../support/bench.js';

describe('a session', () => {
  it('is valid from its declaration and then from each keep-alive', () => {
    const bench = Bench.connected();
    const session = bench.open();
    bench.sent();
    bench.pass(100);
    bench.states([session, opened()]);
    expect([session.validity.renewed, session.validity.until]).toEqual([10_000, 11_100]);
    expect(session.validity.atRiskFrom).toBe(10_720);
    bench.pass(299);
    expect(bench.sent()).toEqual([]);
    bench.pass(1);
    const number = bench.keepAlive();
    bench.pass(100);
    bench.kept(number);
    expect(session.validity.until).toBe(11_500);
    bench.pass(300);
    bench.keepAlive();
  });

  it('that needs them first decides when keep-alives are sent', () => {
    const bench = Bench.connected();
    const [warnAfter, validFor] = [toWire(20_000), toWire(30_000)];
    const slow = bench.open();
    bench.states([slow, opened({ renewAfter: toWire(10_000), warnAfter, validFor })]);
    bench.sent();
    bench.pass(1000);
    const fast = bench.open();
    bench.states([fast, opened({ renewAfter: toWire(1000), warnAfter, validFor })]);
    bench.sent();
    bench.pass(1000);
    bench.kept(bench.keepAlive());
    bench.states([fast, ended(EndReason.CLOSED)]);
    bench.pass(10_000);
    bench.keepAlive();
  });

  it('that is not renewed is lost, and ended at the server', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const claim = bench.hold(session, 7n);
    bench.pass(VALID_FOR - 1);
    expect(bench.protocol.isLeft).toBe(true);
    expect([claim.lostReason(bench.now), claim.status.kind]).toEqual([undefined, 'held']);
    bench.sent();
    bench.pass(1);
    expect([session.status, claim.status]).toEqual([lost('unrenewed'), lost('unrenewed')]);
    expect(bench.changes()).toEqual([{ $case: 'withdraw', value: session.number }]);
    bench.reconnect();
    expect(bench.hello().known, 'the server is to end it').toEqual([]);
  });

  it('is lost by the clock alone, and finally', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const claim = bench.hold(session, 7n);
    const late = bench.now + VALID_FOR;
    expect(claim.lostReason(late - 1)).toBeUndefined();
    expect(claim.lostReason(late)).toEqual({ reason: 'unrenewed' });
    expect(claim.lostReason(late - 1), 'finally').toEqual({ reason: 'unrenewed' });
    expect(session.lostReason(late - 1)).toEqual({ reason: 'unrenewed' });
  });

  it('is lost to a process that was suspended too long, whatever has arrived', () => {
    const bench = Bench.connected();
    const session = bench.session();
    bench.pass(RENEW_AFTER);
    const number = bench.keepAlive();
    bench.now += 700;
    bench.kept(number);
    expect(session.status).toEqual(lost('unrenewed'));
    bench.states([session, opened()]);
    expect(session.status).toEqual(lost('unrenewed'));
  });

  it('whose state arrives too late is lost', () => {
    const bench = Bench.connected();
    const session = bench.open();
    bench.sent();
    bench.now += VALID_FOR;
    bench.states([session, opened()]);
    expect(session.status).toEqual(lost('unrenewed'));
  });

  it('is renewed by a Hello once it is reported', () => {
    const bench = Bench.connected();
    const session = bench.session();
    bench.pass(300);
    bench.reconnect();
    bench.hello();
    bench.pass(100);
    bench.welcome();
    expect(session.validity.renewed, 'the session may have ended').toBe(10_000);
    bench.pass(300);
    bench.kept(bench.keepAlive());
    expect(session.validity.renewed).toBe(10_000);
    bench.states([session, opened()]);
    expect(session.validity.renewed).toBe(10_300);
  });

  it('is not renewed by a keep-alive that is acknowledged on an earlier stream', () => {
    const bench = Bench.connected();
    const session = bench.session();
    bench.pass(RENEW_AFTER);
    const number = bench.keepAlive();
    const old = bench.epoch;
    bench.pass(50);
    bench.connect();
    bench.receive({ $case: 'keptAlive', value: { number } }, old);
    bench.welcome();
    expect(session.validity.renewed).toBe(10_000);
    bench.kept(number);
    expect(session.validity.renewed, 'nor by its repetition').toBe(10_000);
    bench.states([session, opened()]);
    expect(session.validity.renewed).toBe(10_450);
  });
});

describe('a paused session', () => {
  it('ages, and is renewed again after it is resumed', () => {
    const bench = Bench.connected();
    const session = bench.session();
    bench.pass(RENEW_AFTER);
    const before = bench.keepAlive();
    bench.setPaused(session, true);
    bench.setPaused(session, true);
    expect(bench.changes()).toEqual([{ $case: 'pause', value: session.number }]);
    expect(session.validity.isPaused).toBe(true);
    bench.kept(before);
    expect(session.validity.renewed, 'sent before the pause').toBe(10_400);
    bench.pass(RENEW_AFTER);
    expect(bench.sent(), 'nothing to renew').toEqual([]);
    bench.reconnect();
    expect(bench.hello()).toMatchObject({ known: [session.number], paused: [session.number] });
    bench.welcome();
    bench.states([session, opened()]);
    expect(session.validity.renewed).toBe(10_400);
    bench.pass(100);
    bench.setPaused(session, false);
    const [changes, keepAlive] = bench.sent();
    expect(changesIn(changes!)).toEqual([{ $case: 'resume', value: session.number }]);
    bench.kept((keepAlive!.value as { number: bigint }).number);
    expect(session.validity.renewed).toBe(10_900);
  });

  it('is lost as stalled', () => {
    const bench = Bench.connected();
    const session = bench.session();
    bench.setPaused(session, true);
    bench.pass(VALID_FOR);
    expect(session.status).toEqual(lost('stalled'));
  });

  it('was open before', () => {
    const bench = Bench.connected();
    const session = bench.open();
    bench.sent();
    bench.setPaused(session, true);
    expect(bench.sent()).toEqual([]);
    bench.states([session, opened()]);
    bench.setPaused(session, true);
    expect(bench.changes()).toEqual([{ $case: 'pause', value: session.number }]);
  });
});

describe('a hold', () => {
  it('that is released stays released, and one that was lost stays lost', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const [released, expired] = [bench.hold(session, 7n), bench.hold(session, 8n)];
    expect(released.release(bench.now)).toBeUndefined();
    const late = bench.now + VALID_FOR;
    expect(expired.release(late)).toEqual({ reason: 'unrenewed' });
    expect(released.lostReason(late)).toEqual({ reason: 'released' });
    expect(expired.lostReason(bench.now)).toEqual({ reason: 'unrenewed' });
  });
});
