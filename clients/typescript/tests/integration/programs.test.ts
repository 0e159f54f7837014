import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Driver, Program } from '../support/program.js';
import { Server } from '../support/server.js';

describe('the example', () => {
  it('basic', async () => {
    const server = await Server.start();
    const lines = await new Program('examples/basic', server).ends();
    expect(lines).toEqual([expect.stringMatching(/^acquired token=\d+$/), 'valid=true', 'released']);
  });

  it('try_lock', async () => {
    const server = await Server.start();
    const lines = await new Program('examples/try_lock', server, 'one').ends();
    expect(lines).toEqual([expect.stringMatching(/^running token=\d+$/), 'done']);
  });

  it('try_lock on another host', async () => {
    const server = await Server.start();
    await server.client().lock('hourly-job', { owner: 'one' }).acquire();
    expect(await new Program('examples/try_lock', server, 'two').ends()).toEqual(['busy holder=one']);
  });

  it('leader_loop', async () => {
    const server = await Server.start();
    const first = new Program('examples/leader_loop', server, 'one');
    const token = await first.says(/^work token=\d+$/);
    const second = new Program('examples/leader_loop', server, 'two');
    await second.says(/^candidate two$/);
    first.signal('SIGKILL');
    expect(await second.says(/^work token=\d+$/)).not.toBe(token);
    second.signal('SIGINT');
    expect((await second.ends()).at(-1)).toBe('stopping');
  });

  it('watch', async () => {
    const server = await Server.start();
    const watch = new Program('examples/watch', server, 'n');
    await watch.says(/^snapshot revision=\d+$/);
    await new Program('examples/basic', server).ends();
    await watch.says(/^granted name=nightly-report revision=\d+ owner=basic $/);
    await watch.says(/^ended name=nightly-report revision=\d+ owner=basic released vacant$/);
  });

  it('group_throughput', async () => {
    const server = await Server.start();
    await server.client().configureGroup('throughput', '1000');
    const first = new Program('examples/group_throughput', server, 'one');
    await first.says(/^share=1000 of=1000 members=1 leader$/);
    const second = new Program('examples/group_throughput', server, 'two', 'exact');
    await second.says(/^share=500 of=1000 members=2 member$/);
    first.signal('SIGKILL');
    await second.says(/^share=1000 of=1000 members=1 leader$/);
  });

  it('fenced_write', async () => {
    const server = await Server.start();
    const folder = mkdtempSync(join(tmpdir(), 'fence-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const lines = await new Program('examples/fenced_write', server, join(folder, 'work.db')).ends();
    const kinds = lines.map((line) => line.replaceAll(/\d+/g, 'N'));
    const wrote = ['acquired token=N', 'wrote'];
    expect(kinds).toEqual([...wrote, ...wrote, 'refused token=N highest=N']);
  });
});

describe('the driver', () => {
  it('says what it does, and what it cannot', async () => {
    const driver = new Driver(await Server.start());
    const { ok } = await driver.ask({ do: 'hello' });
    expect(ok).toMatchObject({ client: 'typescript' });
    expect((ok as { does: string[] }).does).toContain('await_standing');
    expect(await driver.ask({ do: 'release', guard: 'none' })).toMatchObject({ error: { kind: 'driver' } });
    expect(await driver.ask({ do: 'dance' })).toMatchObject({ error: { kind: 'driver' } });
  });

  it('carries requests out beside each other, and cancels them', async () => {
    const driver = new Driver(await Server.start());
    const acquire = { do: 'acquire', client: 'c', names: ['job'] };
    const { ok } = await driver.ask({ ...acquire, guard: 'g', owner: 'ann' });
    expect(ok).toMatchObject({ acquired: true, names: ['job'] });
    expect(await driver.ask({ ...acquire, guard: 'h', wait_ms: 0 })).toMatchObject({
      ok: { acquired: false, holder: { owner: 'ann' } },
    });
    const waiting = driver.send({ ...acquire, guard: 'h' });
    await driver.ask({ do: 'cancel', request: waiting });
    expect(await driver.answer(waiting)).toMatchObject({ error: { kind: 'cancelled' } });
    expect(await driver.ask({ do: 'release', guard: 'g' })).toMatchObject({ ok: {} });
    expect(await driver.ask({ do: 'hold', guard: 'g' })).toMatchObject({
      ok: { valid: false, lost: { reason: 'released' } },
    });
    expect(await driver.ask({ do: 'session', client: 'c', session: 's', ttl_ms: 1 })).toMatchObject({
      error: { kind: 'refused', reason: 'INVALID_FIELD' },
    });
  });

  it('runs bodies, leads, takes part and watches', async () => {
    const driver = new Driver(await Server.start());
    const running = driver.send({ do: 'run', client: 'c', run: 'r', names: ['job'] });
    const begun = (await driver.ask({ do: 'await_body', run: 'r' }))['ok'];
    await driver.ask({ do: 'finish', run: 'r' });
    expect(await driver.answer(running)).toMatchObject({ ok: { ran: true, ...(begun as object) } });

    await driver.ask({ do: 'lead', client: 'c', election: 'e', name: 'boss', owner: 'ann' });
    expect(await driver.ask({ do: 'await_leading', election: 'e' })).toMatchObject({ ok: { terms: 1 } });
    expect(await driver.ask({ do: 'leader', client: 'c', name: 'boss' })).toMatchObject({
      ok: { leader: { owner: 'ann' } },
    });
    await driver.ask({ do: 'stop', election: 'e' });
    expect(await driver.ask({ do: 'leader', client: 'c', name: 'boss' })).toMatchObject({ ok: {} });

    await driver.ask({ do: 'take_part', client: 'c', member: 'm', group: 'g' });
    expect(await driver.ask({ do: 'await_standing', member: 'm', leads: true, current: true })).toMatchObject({
      ok: { leads: true, assignment: '1', current: true },
    });
    await driver.ask({ do: 'join', client: 'c', member: 'n', group: 'g' });
    expect(await driver.ask({ do: 'await_standing', member: 'n', assignment: '2', member_count: 2 })).toMatchObject({
      ok: { leads: false },
    });
    await driver.ask({ do: 'leave', member: 'm' });
    expect(await driver.ask({ do: 'await_standing', member: 'n', leads: true })).toMatchObject({ ok: { leads: true } });
    expect(await driver.ask({ do: 'assign', member: 'n', assignments: ['x'] })).toMatchObject({ ok: {} });
    expect(await driver.ask({ do: 'get_group', client: 'c', group: 'g' })).toMatchObject({
      ok: { group: { name: 'g', members: [{ assignment: 'x' }], current: true } },
    });

    await driver.ask({ do: 'watch', client: 'c', watch: 'w', names: ['job'], groups: ['g'] });
    expect(await driver.ask({ do: 'next', watch: 'w' })).toMatchObject({
      ok: { kind: 'snapshot', locks: [{ name: 'job', holders: [] }], groups: [{ name: 'g' }] },
    });
    await driver.ask({ do: 'acquire', client: 'c', guard: 'g', names: ['job'] });
    expect(await driver.ask({ do: 'next', watch: 'w' })).toMatchObject({ ok: { kind: 'events' } });
    await driver.ask({ do: 'unwatch', watch: 'w' });
  });
});
