import { describe, expect, it } from 'vitest';
import { ClosedError, InvalidError, LostError, RefusedError, toWire, v1 } from '../../src/index.js';
import { Server } from '../support/server.js';
import { all, eventually, within } from '../support/wait.js';

describe('a lock', () => {
  it('is held by one claim, and then by the next waiter', async () => {
    const server = await Server.start();
    const [one, other] = [server.client(), server.client()];
    const first = await one.lock('job', { owner: 'one', metadata: { host: 'h' } }).acquire();
    expect(first.isValid).toBe(true);
    const busy = await other.lock('job').tryAcquire();
    expect(busy).toMatchObject({
      acquired: false,
      holder: { owner: 'one', token: first.token, metadata: { host: 'h' } },
    });
    expect((await other.lock('job').acquireWithin(50)).acquired).toBe(false);
    const waiting = other.lock('job').acquire();
    await eventually(async () => (await one.getLock('job')).waiterCount === 1n);
    await first.release();
    expect(first.isValid).toBe(false);
    expect(first.lostReason).toEqual({ reason: 'released' });
    const second = await waiting;
    expect(second.token).toBeGreaterThan(first.token);
    await expect(first.release()).rejects.toThrow(LostError);
    await second.release();
    await eventually(async () => (await all(one.listSessions())).length === 0);
  });

  it('is not granted to a cancelled wait', async () => {
    const server = await Server.start();
    const client = server.client();
    const session = await client.session();
    const first = await client.lock('job').acquire();
    const giveUp = new AbortController();
    const inOwn = client.lock('job').acquire({ signal: giveUp.signal });
    const inSession = session.lock('job').acquire({ signal: giveUp.signal });
    await eventually(async () => (await client.getLock('job')).waiterCount === 2n);
    giveUp.abort(new Error('enough'));
    await expect(inOwn).rejects.toThrow('enough');
    await expect(inSession).rejects.toThrow('enough');
    await eventually(async () => (await client.getLock('job')).waiterCount === 0n);
    await first.release();
    const next = await session.lock('job').tryAcquire();
    expect(next.acquired).toBe(true);
  });

  it('is acquired in a set, shared, or by permits', async () => {
    const server = await Server.start();
    const client = server.client();
    const session = await client.session();
    const set = await session.locks(['b', 'a']).acquire();
    expect(set.names).toEqual(['a', 'b']);
    const other = await client.session();
    expect((await other.lock('a').tryAcquire()).acquired).toBe(false);
    await set.release();
    const readers = [
      await session.lock('r', { shared: true }).acquire(),
      await other.lock('r', { shared: true }).acquire(),
    ];
    expect((await client.lock('r').tryAcquire()).acquired).toBe(false);
    await Promise.all(readers.map((reader) => reader.release()));
    await session.lock('p', { permits: 2, limit: 3 }).acquire();
    expect((await other.lock('p', { permits: 2 }).tryAcquire()).acquired).toBe(false);
    expect(
      (await other
        .lock('p')
        .tryAcquire()
        .catch((error: unknown) => error)) as object,
    ).toMatchObject({ acquired: false });
    expect((await other.lock('p', { limit: 3 }).tryAcquire()).acquired).toBe(true);
    await expect(client.lock('p', { limit: 4 }).tryAcquire()).rejects.toMatchObject({ reason: 'LIMIT_MISMATCH' });
  });

  it('is released at the end of a block and of a body', async () => {
    const server = await Server.start();
    const client = server.client();
    {
      await using guard = await client.lock('job').acquire();
      expect(guard.isValid).toBe(true);
    }
    expect((await client.getLock('job')).holders).toEqual([]);
    expect(await client.lock('job').run((hold) => hold.token)).toBeGreaterThan(0n);
    await expect(client.lock('job').run(() => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
    expect((await client.getLock('job')).holders).toEqual([]);
    const guard = await client.lock('job', { owner: 'x' }).acquire();
    expect(await client.lock('job').tryRun(() => 1)).toMatchObject({ ran: false, holder: { owner: 'x' } });
    await guard.updateMetadata({ a: 'b' });
    expect((await client.getLock('job')).holders[0]?.metadata).toEqual({ a: 'b' });
  });

  it('cancels its body when an operator evicts the holder', async () => {
    const server = await Server.start();
    const client = server.client();
    let stopped = false;
    const running = client.lock('job').run(async (hold, signal) => {
      await client.evict({ name: 'job', operator: 'ann', note: 'stuck', token: hold.token });
      await within(5000, new Promise((resolve) => signal.addEventListener('abort', resolve)));
      stopped = true;
    });
    await expect(running).rejects.toMatchObject({
      code: 'LOST',
      lost: { reason: 'ended', ended: { reason: v1.EndReason.EVICTED, operator: 'ann', note: 'stuck' } },
    });
    await eventually(() => stopped);
    const history = await all(client.history('job'));
    expect(history).toMatchObject([
      { kind: { $case: 'hold', value: { endReason: v1.EndReason.EVICTED, operator: 'ann' } } },
    ]);
  });

  it('is handed over without a gap', async () => {
    const server = await Server.start();
    const client = server.client();
    const first = await client.lock('job').acquire();
    const waiting = client.lock('job').acquire();
    await eventually(async () => (await client.getLock('job')).waiterCount === 1n);
    const token = await first.transferTo();
    expect(first.isValid).toBe(false);
    const second = await waiting;
    expect(second.token).toBe(token);
    const third = client.lock('job').acquire();
    await eventually(async () => (await client.getLock('job')).waiterCount === 1n);
    const transfer = client.transfer({ name: 'job', operator: 'ann', drain: toWire(5000) });
    const asked = await second.transferRequested();
    expect(asked.pending).toMatchObject({ drain: toWire(5000), operator: 'ann' });
    expect(asked.remainingMs).toBeLessThanOrEqual(4000);
    await second.release();
    expect((await transfer).token).toBe((await third).token);
  });

  it('is rejected with options out of bounds', async () => {
    const server = await Server.start();
    const client = server.client();
    await expect(client.lock('job', { ttlMs: 1 }).acquire()).rejects.toMatchObject({
      reason: 'INVALID_FIELD',
      metadata: { field: 'ttl' },
    });
    await expect(client.locks([]).acquire()).rejects.toThrow(InvalidError);
    await expect(client.locks(['a', 'a']).acquire()).rejects.toThrow(InvalidError);
    await expect(client.evict({ name: 'job', operator: '' })).rejects.toThrow(RefusedError);
  });

  it('is free at once when its client closes', async () => {
    const server = await Server.start();
    const [one, other] = [server.client(), server.client()];
    const guard = await one.lock('job').acquire();
    const waiting = other.lock('job').acquire();
    await eventually(async () => (await other.getLock('job')).waiterCount === 1n);
    await one.close();
    expect(guard.lostReason).toEqual({ reason: 'closed' });
    await within(2000, waiting);
    await expect(one.lock('job').acquire()).rejects.toThrow(ClosedError);
    await expect(one.getLock('job')).rejects.toThrow(ClosedError);
  });

  it('is claimed anew by each request of a session', async () => {
    const server = await Server.start();
    const session = await server.client().session();
    const first = await session.lock('job').acquire();
    expect(await session.lock('job').tryAcquire()).toMatchObject({ acquired: false, holder: { token: first.token } });
    const waiting = session.lock('job').acquire();
    await eventually(async () => (await server.client().getLock('job')).waiterCount === 1n);
    await first.release();
    const second = await waiting;
    expect(second.token).toBeGreaterThan(first.token);
    expect([first.isValid, second.isValid]).toEqual([false, true]);
  });

  it('is released in the background', async () => {
    const server = await Server.start();
    const client = server.client();
    const guard = await client.lock('job').acquire();
    guard.drop();
    expect([guard.isValid, guard.lostReason]).toEqual([false, { reason: 'released' }]);
    await eventually(async () => (await client.getLock('job')).holders.length === 0);
    await eventually(async () => (await all(client.listSessions())).length === 0);
  });

  it('ends its own session when it is lost', async () => {
    const server = await Server.start();
    const client = server.client();
    const guard = await client.lock('job').acquire();
    await client.evict({ name: 'job', operator: 'ann' });
    expect(await within(5000, guard.lost())).toMatchObject({ reason: 'ended' });
    await eventually(async () => (await all(client.listSessions())).length === 0);
  });
});

describe('a call of the contract', () => {
  it('can be made without a method of its own', async () => {
    const server = await Server.start();
    const client = server.client();
    const { id } = await client.session({ owner: 'ann' });
    const reply = await client.call(v1.SessionServiceDefinition, 'getSession', { sessionId: id });
    expect(reply.session).toMatchObject({ id, owner: 'ann' });
    await expect(client.call(v1.SessionServiceDefinition, 'getSession', { sessionId: 'none' })).rejects.toMatchObject({
      reason: 'SESSION_NOT_FOUND',
    });
  });
});
