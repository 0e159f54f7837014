// An AbortSignal cancels every wait, which then leaves nothing at the server.
import { describe, expect, it, onTestFinished } from 'vitest';
import { assignEach, type Client } from '../../src/index.js';
import { Server } from '../support/server.js';
import { all, eventually, within } from '../support/wait.js';

const ENOUGH = new Error('enough');

async function isEmpty(client: Client): Promise<boolean> {
  const [sessions, locks] = [await all(client.listSessions()), await all(client.listLocks())];
  return sessions.length === 0 && locks.length === 0;
}

describe('an abort', () => {
  it('of 3,000 acquires after 4 ms leaves no session', async () => {
    const server = await Server.start();
    const client = server.client();
    // Connected, so that the requests are under way.
    await client.getLock('job');
    const acquired = await Promise.allSettled(
      Array.from({ length: 3000 }, (_, index) =>
        client.lock(`job-${index % 10}`).acquire({ signal: AbortSignal.timeout(4) }),
      ),
    );
    const guards = acquired.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    await Promise.all(guards.map((guard) => guard.release()));
    await eventually(() => isEmpty(client));
    const next = await client.lock('job-0').tryAcquire();
    expect(next.acquired).toBe(true);
  });

  it('ends the wait for a session and a lock without a server', async () => {
    const server = await Server.start();
    await server.kill();
    const client = server.client({ callTimeoutMs: 60_000 });
    const aborting = new AbortController();
    const { signal } = aborting;
    const waits: Promise<unknown>[] = [
      client.session({}, { signal }),
      client.lock('job').acquire({ signal }),
      client.getLock('job', { signal }),
    ];
    aborting.abort(ENOUGH);
    for (const wait of waits) {
      await expect(within(5000, wait)).rejects.toBe(ENOUGH);
    }
    await server.run();
    await eventually(() => isEmpty(client));
  });

  it('ends every other wait', async () => {
    const server = await Server.start();
    const client = server.client();
    const holder = await client.lock('job', { owner: 'holder' }).acquire();
    const session = await client.session();
    const member = await client.group('g').join();
    const aborting = new AbortController();
    const { signal } = aborting;
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    const watch = client.watch({ names: ['other'] }, { signal });
    await watch.next();
    const waits: Record<string, Promise<unknown>> = {
      acquire: client.lock('job').acquire({ signal }),
      acquireWithin: session.lock('job').acquireWithin(60_000, { signal }),
      run: client.lock('job').run(() => undefined, { signal }),
      lost: holder.lost({ signal }),
      sessionLost: session.lost({ signal }),
      transferRequested: holder.transferRequested({ signal }),
      campaign: client.election('job').campaign({ signal }),
      lead: client.election('job').lead(() => undefined, { signal }),
      leadEvery: client.election('job').leadEvery(1000, () => undefined, { signal }),
      memberLeads: member.lead((group) => assignEach(group, () => 'all'), { signal }),
      takePart: client.group('h').takePart(
        (group) => assignEach(group, () => 'all'),
        () => undefined,
        { signal },
      ),
      watch: watch.next(),
      states: all(session.states({ signal })),
      standings: all(member.standings({ signal })),
      observe: all(client.election('other').observe({ signal })),
    };
    const ended = Promise.allSettled(Object.values(waits));
    await eventually(async () => (await client.getLock('job')).waiterCount === 6n);
    await eventually(async () => (await client.getGroup('h')).members.length === 1);
    aborting.abort(ENOUGH);
    const reasons = (await within(10_000, ended)).map(
      (result) => result.status === 'rejected' && result.reason === ENOUGH,
    );
    expect(Object.fromEntries(Object.keys(waits).map((name, index) => [name, reasons[index]]))).toEqual(
      Object.fromEntries(Object.keys(waits).map((name) => [name, true])),
    );
    expect(holder.isValid).toBe(true);
    expect(warnings, 'any number of waits may share a signal').toEqual([]);
    await eventually(async () => (await client.getLock('job')).waiterCount === 0n);
    await member.leave();
    await session.close();
    await holder.release();
    await eventually(() => isEmpty(client));
  });

  it('before a call makes no request', async () => {
    const server = await Server.start();
    const client = server.client();
    const signal = AbortSignal.abort(ENOUGH);
    await expect(client.lock('job').acquire({ signal })).rejects.toBe(ENOUGH);
    await expect(client.session({}, { signal })).rejects.toBe(ENOUGH);
    await expect(client.getLock('job', { signal })).rejects.toBe(ENOUGH);
    await expect(client.watch({}, { signal }).next()).rejects.toBe(ENOUGH);
    expect(await isEmpty(client)).toBe(true);
  });
});
