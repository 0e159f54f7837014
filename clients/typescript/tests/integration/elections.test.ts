import { describe, expect, it } from 'vitest';
import type { Hold } from '../../src/index.js';
import { InvalidError, toWire } from '../../src/index.js';
import { Server } from '../support/server.js';
import { all, eventually, within } from '../support/wait.js';

/** A body that continues until its signal fires. */
function untilStopped(_hold: Hold, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
}

describe('an election', () => {
  it('has one leader, and another when that stops', async () => {
    const server = await Server.start();
    const client = server.client();
    const stop = { ann: new AbortController(), bob: new AbortController() };
    const terms: string[] = [];
    const lead = async (owner: 'ann' | 'bob') => {
      const election = client.election('leader', { owner, ttlMs: 2000 });
      await election.lead(
        (hold, signal) => {
          terms.push(owner);
          return untilStopped(hold, signal);
        },
        { signal: stop[owner].signal },
      );
    };
    const ann = lead('ann');
    await eventually(() => terms.length === 1);
    const bob = lead('bob');
    expect(await client.election('leader').leader()).toMatchObject({ owner: 'ann' });
    await eventually(async () => (await client.getLock('leader')).waiterCount === 1n);
    stop.ann.abort(new Error('enough'));
    await expect(ann).rejects.toThrow('enough');
    await eventually(() => terms.length === 2);
    stop.bob.abort(new Error('enough'));
    await expect(bob).rejects.toThrow('enough');
    expect(terms).toEqual(['ann', 'bob']);
    expect(await client.election('leader').leader()).toBeUndefined();
  });

  it('begins another term with a higher token after a loss', async () => {
    const server = await Server.start();
    const client = server.client();
    const stop = new AbortController();
    const tokens: bigint[] = [];
    const leading = client.election('leader').lead(
      async (hold, signal) => {
        tokens.push(hold.token);
        await untilStopped(hold, signal);
      },
      { signal: stop.signal },
    );
    await eventually(() => tokens.length === 1);
    await client.evict({ name: 'leader', operator: 'ann' });
    await eventually(() => tokens.length === 2);
    expect(tokens[1]).toBeGreaterThan(tokens[0] ?? 0n);
    stop.abort();
    await expect(leading).rejects.toThrow();
  });

  it('is handed over when the body has stopped', async () => {
    const server = await Server.start();
    const client = server.client();
    const stop = new AbortController();
    let leads = false;
    const leading = client.election('leader').lead(
      async (hold, signal) => {
        leads = true;
        await untilStopped(hold, signal);
        leads = false;
      },
      { signal: stop.signal },
    );
    await eventually(() => leads);
    const next = client.election('leader', { owner: 'next' }).campaign();
    await eventually(async () => (await client.getLock('leader')).waiterCount === 1n);
    const claim = await client.transfer({ name: 'leader', operator: 'ann', drain: toWire(5000) });
    expect(leads).toBe(false);
    expect(claim).toMatchObject({ owner: 'next', token: (await next).token });
    stop.abort();
    await expect(leading).rejects.toThrow();
  });

  it('runs a body in each period while it leads', async () => {
    const server = await Server.start();
    const client = server.client();
    const stop = new AbortController();
    let bodies = 0;
    const election = client.election('leader', { ttlMs: 2000, stallAfterMs: 500 });
    const leading = election.leadEvery(
      2500,
      () => {
        bodies += 1;
      },
      { signal: stop.signal },
    );
    // Waiting for the next body's time is no stall.
    await eventually(() => bodies === 3);
    expect((await all(client.history('leader'))).length).toBe(1);
    stop.abort();
    await expect(leading).rejects.toThrow();
    await expect(election.leadEvery(0, () => undefined)).rejects.toThrow(InvalidError);
  });

  it('is lost to a body that hangs', async () => {
    const server = await Server.start();
    const client = server.client();
    const stop = new AbortController();
    const election = client.election('leader', { ttlMs: 2000, stallAfterMs: 500 });
    const lost = new Promise((resolve) => {
      const body = async (hold: Hold, signal: AbortSignal) => {
        await untilStopped(hold, signal);
        resolve(hold.lostReason);
      };
      election.lead(body, { signal: stop.signal }).catch(() => undefined);
    });
    expect(await within(10_000, lost)).toEqual({ reason: 'stalled' });
    stop.abort();
  });

  it('can be observed', async () => {
    const server = await Server.start();
    const client = server.client();
    const owners: (string | undefined)[] = [];
    const observing = (async () => {
      for await (const leader of client.election('leader').observe()) {
        owners.push(leader?.owner);
        if (owners.length === 3) {
          return;
        }
      }
    })();
    await eventually(() => owners.length === 1);
    const guard = await client.election('leader', { owner: 'ann' }).campaign();
    await eventually(() => owners.length === 2);
    await guard.release();
    await within(5000, observing);
    expect(owners).toEqual([undefined, 'ann', undefined]);
  });
});
