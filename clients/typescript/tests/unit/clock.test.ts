import { describe, expect, it } from 'vitest';
import { now, SuspendClock } from '../../src/clock.js';
import { stopAt } from '../../src/guard.js';

describe('the clock', () => {
  it('runs on in suspend', () => {
    let [fine, coarse] = [100, 5000];
    const clock = new SuspendClock(
      () => fine,
      () => coarse,
    );
    const before = clock.now();
    [fine, coarse] = [101, 65_000];
    expect(clock.now() - before).toBe(60_000);
  });

  it('has the resolution of the fine one, and never runs backwards', () => {
    let fine = 0;
    const clock = new SuspendClock(
      () => fine,
      () => Math.floor((fine + 3) / 10) * 10,
    );
    // Whatever the rounding, once a whole step of the coarse clock has been seen.
    for (fine = 0; fine < 10; fine += 0.5) {
      clock.now();
    }
    let before = clock.now();
    for (let step = 0; step < 100; step += 1) {
      fine += 0.7;
      const now = clock.now();
      expect(now - before).toBeCloseTo(0.7);
      before = now;
    }
  });

  it('does without the coarse one', () => {
    const clock = new SuspendClock(
      () => 7,
      () => 0,
    );
    expect(clock.now()).toBe(7);
  });

  it('of this machine does not run backwards', () => {
    const before = now();
    expect(now()).toBeGreaterThanOrEqual(before);
  });
});

describe('a drain', () => {
  it.each([
    [100, 80],
    [1000, 800],
    [10_000, 9000],
    [60_000, 59_000],
  ])('of %d ms leaves %d ms for the work', (drain, left) => {
    expect(stopAt(drain, 5)).toBe(5 + left);
  });
});
