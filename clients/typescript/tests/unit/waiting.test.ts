import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Backoff, firstOf, Notifier, onAbort, sleep } from '../../src/waiting.js';

describe('a wait', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('ends at a notification of any of its notifiers', async () => {
    const [one, other] = [new Notifier(), new Notifier()];
    const waiting = Notifier.wait([one, other], Infinity);
    other.notify();
    await waiting;
  });

  it('ends after its time', async () => {
    let isOver = false;
    const waiting = Notifier.wait([new Notifier()], 20).then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(19);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await waiting;
  });

  it('rejects with the reason of its signal, also of one that fired before', async () => {
    const controller = new AbortController();
    const waiting = sleep(1e6, controller.signal);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(sleep(1e6, controller.signal)).rejects.toThrow('enough');
  });

  it('may be longer than the timers of the runtime', async () => {
    const controller = new AbortController();
    let isOver = false;
    const waiting = sleep(1e12, controller.signal).then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(1e6);
    expect(isOver).toBe(false);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});

describe('the first of several signals', () => {
  it('fires with the reason of that one', () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const [signal] = firstOf(one.signal, undefined, other.signal);
    other.abort('enough');
    one.abort('late');
    expect(signal.reason).toBe('enough');
  });

  it('has fired if one of them has', () => {
    expect(firstOf(AbortSignal.abort('before'))[0].reason).toBe('before');
  });

  it('listens to them until that is stopped', () => {
    const controller = new AbortController();
    const stop = onAbort([controller.signal], () => expect.unreachable());
    stop();
    controller.abort();
  });
});

describe('a signal that many wait for', () => {
  it('has one listener, which ends all of them and is gone when none is left', async () => {
    const controller = new AbortController();
    const listeners = () => getEventListeners(controller.signal, 'abort').length;
    const stops = [1, 2, 3].map(() => onAbort([controller.signal], () => expect.unreachable()));
    const waits = [1, 2, 3].map(() => sleep(1e6, controller.signal));
    expect(listeners()).toBe(1);
    stops.forEach((stop) => stop());
    expect(listeners()).toBe(1);
    controller.abort(new Error('enough'));
    await Promise.all(waits.map((wait) => expect(wait).rejects.toThrow('enough')));
    expect(listeners()).toBe(0);
  });
});

describe('pauses', () => {
  it('grow within their bounds', () => {
    const backoff = new Backoff(50, 1000);
    const pauses = Array.from({ length: 40 }, () => backoff.nextPause());
    pauses.forEach((pause, attempt) => {
      const step = Math.min(50 * 2 ** attempt, 1000);
      expect(pause).toBeGreaterThanOrEqual(step / 2);
      expect(pause).toBeLessThanOrEqual(step);
    });
    backoff.reset();
    expect(backoff.nextPause()).toBeLessThanOrEqual(50);
  });
});
