import { describe, expect, it } from 'vitest';
import { ClosedError, InvalidError, LostError, RefusedError } from '../../src/index.js';
import { Server } from '../support/server.js';
import { all, eventually, within } from '../support/wait.js';

describe('a lock', () => {
  it('is held by one, and then by who waits', async () => {
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

  it('that nobody waits for any more is left alone', async () => {
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

  it('can be had several at once, shared, or by permits', async () => {
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

  it('is given back at the end of a block and of a body', async () => {
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
    await guard.update({ a: 'b' });
    expect((await client.getLock('job')).holders[0]?.metadata).toEqual({ a: 'b' });
  });

  it('cancels its body when an operator takes it', async () => {
    const server = await Server.start();
    const client = server.client();
    let stopped = false;
    const running = client.lock('job').run(async (hold, signal) => {
      await client.evict('job', { operator: 'ann', note: 'stuck', token: hold.token });
      await within(5000, new Promise((resolve) => signal.addEventListener('abort', resolve)));
      stopped = true;
    });
    await expect(running).rejects.toMatchObject({
      code: 'LOST',
      lost: { reason: 'ended', endReason: 'evicted', operator: 'ann', note: 'stuck' },
    });
    await eventually(() => stopped);
    const history = await all(client.history('job'));
    expect(history).toMatchObject([{ kind: 'hold', endReason: 'evicted', operator: 'ann' }]);
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
    const transfer = client.transfer('job', { operator: 'ann', drainMs: 5000 });
    const asked = await second.transferRequested();
    expect(asked).toMatchObject({ drainMs: 5000, operator: 'ann' });
    await second.release();
    expect((await transfer)?.token).toBe((await third).token);
  });

  it('refuses what is out of bounds', async () => {
    const server = await Server.start();
    const client = server.client();
    await expect(client.lock('job', { ttlMs: 1 }).acquire()).rejects.toMatchObject({
      reason: 'INVALID_FIELD',
      metadata: { field: 'ttl' },
    });
    await expect(client.locks([]).acquire()).rejects.toThrow(InvalidError);
    await expect(client.locks(['a', 'a']).acquire()).rejects.toThrow(InvalidError);
    await expect(client.evict('job', { operator: '' })).rejects.toThrow(RefusedError);
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
});
