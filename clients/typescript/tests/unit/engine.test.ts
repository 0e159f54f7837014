import { describe, expect, it } from 'vitest';
import { toWire } from '../../src/convert.js';
import { ClosedError, RefusedError, UnavailableError } from '../../src/errors.js';
import { Answer, Bench, CALL, kept } from '../support/bench.js';

describe('refused credentials', () => {
  const REFUSED = new RefusedError('UNAUTHENTICATED', 'unknown token', { rule: 'known-token' });

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
