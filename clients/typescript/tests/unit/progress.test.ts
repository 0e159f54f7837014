import { expect, it } from 'vitest';
import { Progress } from '../../src/progress.js';

it('a tick counts for its interval', () => {
  const progress = new Progress(5000);
  progress.begin(1000);
  expect([progress.isStalled(5999), progress.isStalled(6000)]).toEqual([false, true]);
  progress.tick(7000);
  expect([progress.isStalled(11_999), progress.isStalled(12_000)]).toEqual([false, true]);
});

it('the first tick is due one interval after the beginning, which is once', () => {
  const progress = new Progress(5000);
  expect(progress.isStalled(1e9), 'not begun').toBe(false);
  progress.begin(60_000);
  progress.begin(63_000);
  expect([progress.isStalled(64_999), progress.isStalled(65_000)]).toEqual([false, true]);
});
