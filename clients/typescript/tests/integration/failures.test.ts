import { describe, expect, it } from 'vitest';
import { UnavailableError, v1 } from '../../src/index.js';
import { Driver } from '../support/program.js';
import { Server } from '../support/server.js';
import { eventually, within } from '../support/wait.js';

describe('a holder', () => {
  it('that dies is replaced after its TTL', async () => {
    const server = await Server.start();
    const dying = new Driver(server);
    await dying.ask({ do: 'acquire', client: 'c', guard: 'g', names: ['job'], ttl_ms: 1500 });
    const client = server.client();
    const waiting = client.lock('job').acquire();
    await eventually(async () => (await client.getLock('job')).waiterCount === 1n);
    dying.program.signal('SIGKILL');
    await within(2500, waiting);
  });

  it('that is frozen finds its hold lost on waking', async () => {
    const server = await Server.start();
    const frozen = new Driver(server);
    await frozen.ask({ do: 'acquire', client: 'c', guard: 'g', names: ['job'], ttl_ms: 800 });
    frozen.program.signal('SIGSTOP');
    const next = await within(4000, server.client().lock('job').acquire());
    expect(next.isValid).toBe(true);
    frozen.program.signal('SIGCONT');
    const { ok } = await frozen.ask({ do: 'hold', guard: 'g' });
    // By its own clock, or by the server's notice, whichever it sees first.
    expect(ok).toMatchObject({ valid: false, lost: { reason: expect.stringMatching(/^(expired|ended)$/) as string } });
  });

  it('with a grace is replaced after that', async () => {
    const server = await Server.start();
    const dying = new Driver(server);
    const acquire = {
      do: 'acquire',
      client: 'c',
      guard: 'g',
      names: ['job'],
      ttl_ms: 60_000,
      disconnect_grace_ms: 1000,
    };
    await dying.ask(acquire);
    const client = server.client();
    const waiting = client.lock('job').acquire();
    await eventually(async () => (await client.getLock('job')).waiterCount === 1n);
    dying.program.signal('SIGKILL');
    await within(3000, waiting);
  });
});

describe('a server that restarts', () => {
  it.each(['kill', 'stop'] as const)('by %s keeps holds, tokens and places in the queue', async (how) => {
    const server = await Server.start();
    const client = server.client({ callTimeoutMs: 10_000 });
    const session = await client.session({ ttlMs: 6000 });
    const first = await session.lock('job').acquire();
    const waiting = client.lock('job', { ttlMs: 6000 }).acquire();
    await eventually(async () => (await client.getLock('job')).waiterCount === 1n);
    await server[how]();
    await server.run();
    expect((await client.getLock('job')).holders[0]?.token).toBe(first.token);
    await eventually(() => session.state.state === 'healthy');
    expect(first.isValid).toBe(true);
    await first.release();
    expect((await within(5000, waiting)).token).toBeGreaterThan(first.token);
  });

  it('goes on with watches where they were', async () => {
    const server = await Server.start();
    const client = server.client({ callTimeoutMs: 10_000 });
    const watch = client.watch({ names: ['job'] });
    expect((await watch.next()).value).toMatchObject({
      kind: { $case: 'snapshot', value: { locks: [{ name: 'job', holders: [] }] } },
    });
    const revisions: bigint[] = [];
    const kinds: string[] = [];
    const reading = (async () => {
      for await (const item of watch) {
        if (item.kind?.$case === 'events') {
          revisions.push(...item.kind.value.events.map(({ revision }) => revision));
          kinds.push(...item.kind.value.events.map(({ type }) => type));
        }
        if (kinds.filter((kind) => kind === v1.EventType.ENDED).length === 2) {
          return;
        }
      }
    })();
    await (await client.lock('job', { ttlMs: 6000 }).acquire()).release();
    await eventually(() => kinds.includes(v1.EventType.ENDED));
    await server.kill();
    await server.run();
    await (await client.lock('job').acquire()).release();
    await within(10_000, reading);
    const { QUEUED, GRANTED, ENDED } = v1.EventType;
    const expected: string[] = [QUEUED, GRANTED, ENDED, QUEUED, GRANTED, ENDED];
    // A claim that is granted at once has one event.
    expect(kinds).toEqual(expected.filter((kind) => kinds.includes(kind)));
    expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => Number(a - b)));
  });
});

describe('without a server', () => {
  it('calls end with their deadline', async () => {
    const server = await Server.start();
    await server.kill();
    const client = server.client({ callTimeoutMs: 200 });
    await expect(client.getLock('job')).rejects.toThrow(UnavailableError);
    await expect(client.lock('job').acquire()).rejects.toThrow(UnavailableError);
  });

  it('a session is at risk and then lost, before the server could give anything away', async () => {
    const server = await Server.start();
    const client = server.client();
    const session = await client.session({ ttlMs: 3000 });
    const guard = await session.lock('job').acquire();
    const begun = performance.now();
    server.signal('SIGSTOP');
    const validUntil = session.validUntil;
    const states: string[] = [];
    for await (const { state } of session.states()) {
      states.push(state);
    }
    expect(states).toEqual(['healthy', 'at_risk', 'lost']);
    expect(validUntil - begun).toBeLessThan(3000);
    expect(performance.now() - begun).toBeLessThan(6000);
    expect(guard.signal.aborted).toBe(true);
    expect(await guard.lost()).toEqual({ reason: 'unrenewed' });
    server.signal('SIGCONT');
  });

  it('the next endpoint is taken', async () => {
    const [dead, server] = [await Server.start(), await Server.start()];
    await dead.kill();
    const client = server.client({ endpoints: [dead.endpoint, server.endpoint] });
    await within(3000, client.getLock('job'));
  });

  it('one that is frozen does not hold anybody up', async () => {
    const [frozen, server] = [await Server.start(), await Server.start()];
    frozen.signal('SIGSTOP');
    for (let times = 0; times < 4; times += 1) {
      const client = server.client({ endpoints: [frozen.endpoint, server.endpoint] });
      await within(1000, client.getLock('job'));
    }
    frozen.signal('SIGCONT');
  });
});
