// When the client leaves its server.
import { describe, expect, it } from 'vitest';
import { Bench, RENEW_AFTER, rejected, VALID_FOR } from '../../support/bench.js';

describe('a server is left', () => {
  it('that is going away', () => {
    const bench = Bench.connected();
    expect(bench.protocol.isLeft).toBe(false);
    bench.receive({ $case: 'goingAway', value: { grace: undefined } });
    expect(bench.protocol.isLeft).toBe(true);
    bench.connect();
    expect(bench.protocol.isLeft).toBe(false);
  });

  it('that does not acknowledge a keep-alive in time', () => {
    const bench = Bench.connected();
    bench.session();
    bench.pass(RENEW_AFTER + VALID_FOR / 4 - 1);
    expect(bench.protocol.isLeft).toBe(false);
    bench.pass(1);
    expect(bench.protocol.isLeft).toBe(true);
  });

  it('not for a keep-alive that the one before did not acknowledge', () => {
    const bench = Bench.connected();
    bench.session();
    bench.pass(RENEW_AFTER + 200);
    bench.reconnect();
    bench.pass(VALID_FOR / 4 - 1);
    expect(bench.protocol.isLeft).toBe(false);
    bench.pass(1);
    expect(bench.protocol.isLeft, 'for its own silence').toBe(true);
  });

  it('that does not welcome the client', () => {
    const bench = new Bench();
    bench.connect();
    bench.pass(999);
    expect(bench.protocol.isLeft).toBe(false);
    bench.pass(1);
    expect(bench.protocol.isLeft).toBe(true);
  });

  it.each([false, true])(
    'that replies to no change, after a probe, and only without a session (with one: %s)',
    (has) => {
      const bench = Bench.connected();
      if (has) {
        bench.session();
      }
      bench.open();
      bench.changes();
      let keepAlives = 0;
      // The probe, and the renewals of the session.
      for (const pause of [250, 150, 400, 199]) {
        bench.pass(pause);
        for (const sent of bench.sent()) {
          keepAlives += 1;
          expect(sent.$case).toBe('keepAlive');
          bench.kept((sent.value as { number: bigint }).number);
        }
        expect(keepAlives).toBeGreaterThan(0);
      }
      expect(keepAlives).toBe(has ? 3 : 1);
      expect(bench.protocol.isLeft).toBe(false);
      bench.pass(1);
      expect(bench.protocol.isLeft).toBe(!has);
    },
  );

  it.each([
    ['DRAINING', true],
    ['LEASE_LOST', true],
    ['STORE_UNAVAILABLE', false],
    ['LIMIT_REACHED', false],
  ])('that rejects a claim with %s: %s', (reason, isLeft) => {
    const bench = Bench.connected();
    const claim = bench.claim(bench.session());
    bench.states([claim, rejected(reason)]);
    expect(bench.protocol.isLeft).toBe(isLeft);
  });

  it('without a database, if no session depends on it', () => {
    const bench = Bench.connected();
    bench.states([bench.open(), rejected('STORE_UNAVAILABLE')]);
    expect(bench.protocol.isLeft).toBe(true);
  });
});
