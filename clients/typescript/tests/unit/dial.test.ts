// Which endpoint is connected to, and when the next one is tried.
import { describe, expect, it } from 'vitest';
import { RefusedError, UnavailableError } from '../../src/error.js';
import type { Wire } from '../../src/transport/connector.js';
import { dial } from '../../src/transport/dial.js';
import { onAbort } from '../../src/waiting.js';

const NEVER = new AbortController().signal;
const SOON_MS = 10;
/** Longer than a test may take. */
const LONG_MS = 1e6;

/** Endpoints that are opened by hand. */
class Endpoints {
  readonly opened: number[] = [];
  readonly closed: number[] = [];
  readonly cancelled: number[] = [];
  private readonly settle = new Map<number, { resolve: (wire: Wire) => void; reject: (error: Error) => void }>();

  readonly open = (index: number, signal: AbortSignal): Promise<Wire> => {
    this.opened.push(index);
    return new Promise((resolve, reject) => {
      this.settle.set(index, { resolve, reject });
      onAbort([signal], (reason) => {
        this.cancelled.push(index);
        reject(reason);
      });
    });
  };

  accept(index: number): void {
    this.settle.get(index)?.resolve({ index, close: () => this.closed.push(index) } as unknown as Wire);
  }

  fail(index: number, error: Error): void {
    this.settle.get(index)?.reject(error);
  }

  async until(count: number): Promise<void> {
    await expect.poll(() => this.opened.length).toBe(count);
  }
}

function refused(reason: string): RefusedError {
  return new RefusedError({ code: 16, reason, message: '', metadata: {} });
}

describe('dialling', () => {
  it('tries the next endpoint at once when one fails', async () => {
    const endpoints = new Endpoints();
    const dialled = dial([2, 0, 1], endpoints.open, LONG_MS, NEVER);
    await endpoints.until(1);
    endpoints.fail(2, new UnavailableError('down'));
    await endpoints.until(2);
    endpoints.accept(0);
    expect((await dialled).index).toBe(0);
    expect(endpoints.opened).toEqual([2, 0]);
  });

  it('tries the next endpoint in parallel when one is silent, and takes the first that opens', async () => {
    const endpoints = new Endpoints();
    const dialled = dial([0, 1], endpoints.open, SOON_MS, NEVER);
    await endpoints.until(2);
    endpoints.accept(1);
    expect((await dialled).index).toBe(1);
    await expect.poll(() => endpoints.cancelled).toContain(0);
  });

  it('closes what was opened at the same moment', async () => {
    const endpoints = new Endpoints();
    const dialled = dial([0, 1], endpoints.open, SOON_MS, NEVER);
    await endpoints.until(2);
    endpoints.accept(0);
    endpoints.accept(1);
    expect((await dialled).index).toBe(0);
    await expect.poll(() => endpoints.closed).toEqual([1]);
  });

  it.each([
    [[0, 1], 0],
    [[1, 0], 1],
  ])('in the order %j fails with rejected credentials, whichever other endpoint is away', async (order, first) => {
    const endpoints = new Endpoints();
    const dialled = dial(order, endpoints.open, LONG_MS, NEVER);
    dialled.catch(() => undefined);
    const errors = [refused('UNAUTHENTICATED'), new UnavailableError('down')];
    await endpoints.until(1);
    endpoints.fail(first, errors[first]!);
    await endpoints.until(2);
    endpoints.fail(1 - first, errors[1 - first]!);
    await expect(dialled).rejects.toMatchObject({ reason: 'UNAUTHENTICATED' });
  });

  it('is cancelled by its signal', async () => {
    const endpoints = new Endpoints();
    const controller = new AbortController();
    const dialled = dial([0, 1], endpoints.open, LONG_MS, controller.signal);
    await endpoints.until(1);
    controller.abort();
    await expect(dialled).rejects.toThrow();
    expect(endpoints.opened).toEqual([0]);
  });
});
