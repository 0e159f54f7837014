import { describe, expect, it } from 'vitest';
import { assignEach, type Standing, v1 } from '../../src/index.js';
import { Server } from '../support/server.js';
import { eventually, within } from '../support/wait.js';

describe('a group', () => {
  it('has its config divided among its members as they come and go', async () => {
    const server = await Server.start();
    const client = server.client();
    await client.configureGroup('g', '100');
    const stop = [new AbortController(), new AbortController()];
    const latest: (Standing | undefined)[] = [undefined, undefined];
    const takingPart = stop.map(({ signal }, place) =>
      client.group('g', { ttlMs: 2000 }).takePart(
        (group) => assignEach(group, () => String(Number(group.config) / group.members.length)),
        (standing) => (latest[place] = standing),
        { signal },
      ),
    );
    const shares = () => latest.map((standing) => (standing?.isCurrent === true ? standing.assignment : undefined));
    await eventually(() => shares().every((share) => share === '50'));
    const revision = await client.configureGroup('g', '60');
    await eventually(() => shares().every((share) => share === '30'));
    await expect(client.configureGroup('g', '1', { expectedRevision: revision - 1n })).rejects.toMatchObject({
      reason: 'CONFIG_CONFLICT',
    });
    stop[0]?.abort(new Error('enough'));
    await expect(takingPart[0]).rejects.toThrow('enough');
    await eventually(() => shares()[1] === '60');
    stop[1]?.abort(new Error('enough'));
    await expect(takingPart[1]).rejects.toThrow('enough');
    await eventually(async () => (await client.getGroup('g')).members.length === 0);
  });

  it('is led by the member that has been there longest', async () => {
    const server = await Server.start();
    const client = server.client();
    const session = await client.session({ owner: 'second' });
    const first = await client.group('g', { metadata: { cores: '8' } }).join();
    const second = await session.group('g').join();
    expect([first.standing.leads, second.standing.leads]).toEqual([true, false]);
    await eventually(() => first.standing.group.members.length === 2);
    expect(first.standing.group.members[0]?.metadata).toEqual({ cores: '8' });
    const { group } = first.standing;
    await first.assign(
      group,
      assignEach(group, (place) => `part ${place}`),
    );
    await eventually(() => second.standing.assignment === 'part 1');
    await expect(second.assign(group, new Map())).rejects.toMatchObject({ code: 'INVALID' });
    await first.leave();
    expect(first.standing.lost).toEqual({ reason: 'released' });
    await eventually(() => second.standing.leads);
    await expect(second.assign(group, new Map())).rejects.toMatchObject({ code: 'INVALID' });
    await session.close();
    expect(await within(2000, second.lost())).toEqual({ reason: 'closed' });
  });

  it('loses a member whose session an operator closes', async () => {
    const server = await Server.start();
    const client = server.client();
    const member = await client.group('g').join();
    await client.call(v1.SessionServiceDefinition, 'closeSession', { sessionId: member.session.id });
    expect(await within(2000, member.lost())).toMatchObject({
      reason: 'ended',
      ended: { reason: v1.EndReason.CLOSED },
    });
  });
});
