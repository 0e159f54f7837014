import { describe, expect, it } from 'vitest';
import { renewalPeriod, silenceLimit, Validity } from '../../src/validity.js';

describe('validity', () => {
  it('counts from the sending and not from the answer', () => {
    const validity = new Validity(1200, undefined, 0);
    expect(validity.until).toBe(1200 - 12 - 60);
    validity.renewed(1200, 400, 700);
    expect(validity.until).toBe(400 + 1200 - 12 - 60);
  });

  it('keeps its margin within bounds', () => {
    expect(new Validity(100, undefined, 0).until).toBe(100 - 1 - 10);
    expect(new Validity(100_000, undefined, 0).until).toBe(100_000 - 1000 - 500);
  });

  it('goes through its phases', () => {
    const validity = new Validity(1200, undefined, 0);
    expect(validity.nextChange(0)).toBe(728);
    expect(validity.phase(727)).toBe('healthy');
    expect(validity.phase(728)).toBe('at_risk');
    expect(validity.nextChange(728)).toBe(1128);
    expect(validity.phase(1127)).toBe('at_risk');
    expect(validity.phase(1128)).toBe('over');
    expect(validity.nextChange(1128)).toBeUndefined();
  });

  it('is not revived by a late answer', () => {
    const validity = new Validity(1200, undefined, 0);
    // The process was paused: the renewal was sent in time, but its answer is read after the end.
    validity.renewed(1200, 1000, 1130);
    expect(validity.phase(1130)).toBe('over');
    // Not even for a clock that is read late.
    expect(validity.phase(1000)).toBe('over');
  });

  it.each([100, 500, 1200, 10_000, 86_400_000])('has room for a failover in a TTL of %d ms', (ttl) => {
    const validity = new Validity(ttl, undefined, 0);
    // Answered at once, then silence: the next renewal is sent, and waited for.
    const noticed = renewalPeriod(ttl) + silenceLimit(ttl);
    expect(validity.until - noticed).toBeGreaterThanOrEqual(ttl / 4);
  });

  it('with a grace is over when nothing was heard for that long', () => {
    const validity = new Validity(10_000, 300, 0);
    expect(validity.window).toBe(300);
    expect(validity.until).toBe(300 - 3 - 15);
    validity.renewed(10_000, 100, 160);
    expect(validity.until).toBe(100 + 282);
    expect(validity.phase(281)).toBe('healthy');
    expect(validity.phase(282)).toBe('at_risk');
    expect(validity.phase(382)).toBe('over');
    validity.renewed(10_000, 300, 383);
    expect(validity.phase(383)).toBe('over');
  });

  it('goes by a grace that comes with a new stream at once', () => {
    const validity = new Validity(10_000, undefined, 0);
    validity.attached(10_000, 1000, 50, 60);
    expect(validity.until, 'whatever the TTL promised before').toBe(50 + 1000 - 10 - 50);
    validity.attached(10_000, undefined, 100, 110);
    expect(validity.until).toBe(100 + 10_000 - 100 - 500);
  });

  /** A generator of numbers that are the same in each run. */
  function numbers(seed: number): (below: number) => number {
    let state = seed;
    return (below) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
  }

  it.each(Array.from({ length: 200 }, (_, seed) => seed))(
    'is never valid after the server may have given it away (%d)',
    (seed) => {
      const below = numbers(seed);
      const ttl = 100 + below(20_000);
      const grace = below(2) === 0 ? undefined : Math.min(ttl, 100 + below(20_000));
      // When the TTL has passed on a clock that runs as much faster as clocks may, since the last renewal was sent.
      const givenAway = (sent: number) => sent + (grace ?? ttl) / 1.01;
      const validity = new Validity(ttl, grace, 0);
      let [received, now, wasOver] = [0, 0, false];
      for (let step = 0; step < 40; step += 1) {
        const sent = now + below(8000);
        now = sent + below(8000);
        if (below(2) === 0 && sent < givenAway(received)) {
          received = sent;
          validity.renewed(ttl, sent, now);
        }
        const isOver = validity.phase(now) === 'over';
        if (!isOver) {
          expect(wasOver).toBe(false);
          expect(now).toBeLessThan(givenAway(received));
          expect(validity.until).toBeLessThan(givenAway(received));
          expect(validity.nextChange(now)).toBeGreaterThan(now);
        }
        wasOver = isOver;
      }
    },
  );
});
