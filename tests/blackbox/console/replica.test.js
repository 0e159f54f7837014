// Compares a replica, which the page builds from all events of a watch, with a list at the same revision.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Replica, whole } from '../../../server/console/page/replica.js';
import { Server, newToken, until } from './support.js';

const { token, line } = newToken('all');
const bearer = { authorization: `Bearer ${token}` };

/** @type {Server} */
let server;

before(async () => {
  server = await Server.start(['--tokens-file', '@tokens'], { tokens: `${line}\n` });
});

after(() => server?.end());

/** Pseudo-random numbers, the same each time. */
function* drawn() {
  for (let state = 12345; ; state = (state * 1103515245 + 12345) % 2147483648) yield state >> 8;
}

test('a replica is what the service lists', async () => {
  const replica = new Replica();
  const ended = new AbortController();
  const answer = await fetch(`${server.url}/console/api/tenure.v1.WatchService/Watch`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...bearer },
    body: JSON.stringify({ prefixes: [''] }),
    signal: ended.signal,
  });
  const watching = (async () => {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of /** @type {any} */ (answer.body)) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) replica.take(JSON.parse(line).result);
    }
  })().catch(() => {});
  const numbers = drawn();
  const draw = (/** @type {number} */ below) => Number(numbers.next().value) % below;
  const call = (/** @type {string} */ method, /** @type {object} */ request) => server.call(method, request, bearer);
  /** @type {Promise<unknown>[]} */
  const waits = [];
  const seen = { granted: 0, refused: 0 };
  for (let turn = 0; turn < 400; turn += 1) {
    const name = `lock-${draw(6)}`;
    const sessionId = `session-${draw(8)}`;
    const kind = draw(10);
    if (kind < 5) {
      const names = draw(4) === 0 ? [name, `lock-${6 + draw(3)}`] : [name];
      const mode = draw(3) === 0 ? { mode: 'MODE_SHARED' } : {};
      const request = {
        names,
        sessionId,
        ttl: '60s',
        owner: sessionId,
        priority: draw(3),
        wait: draw(2) === 0 ? '0s' : '20s',
        ...mode,
        ...(draw(5) === 0 && { minHold: '0.2s' }),
      };
      const asked = call('LockService/Acquire', request).then(({ status }) =>
        status === 200 ? (seen.granted += 1) : (seen.refused += 1),
      );
      if (request.wait === '0s') await asked;
      else waits.push(asked);
    } else if (kind < 7) await call('LockService/Evict', { name, operator: 'test' });
    else if (kind < 8) await call('SessionService/CloseSession', { sessionId });
    else if (kind < 9)
      await call('LockService/ConfigureLock', {
        name,
        operator: 'test',
        settings: { preempt: { settling: '0s', drain: '0.1s' } },
      });
    else {
      const { answer } = await call('LockService/GetLock', { name });
      const holder = answer.lock?.holders?.[0];
      if (holder?.token) await call('LockService/Release', { name, sessionId: holder.sessionId, token: holder.token });
    }
    if (turn % 40 === 39) await settled();
  }
  for (let session = 0; session < 8; session += 1)
    await call('SessionService/CloseSession', { sessionId: `session-${session}` });
  await Promise.all(waits);
  // Minimum holds last a little longer.
  await until('no session holds or waits', () => replica.locks.size === 0);
  assert.ok(seen.granted > 100, JSON.stringify(seen));
  ended.abort();
  await watching;

  /** Waits until the replica equals a list. It does not receive revisions that do not concern locks. */
  async function settled() {
    /** @type {unknown} */
    let different;
    const isSame = async () => {
      try {
        compare((await call('LockService/ListLocks', { pageSize: 1000 })).answer);
        return true;
      } catch (error) {
        different = error;
        return false;
      }
    };
    await until('the replica is what is listed', isSame).catch(() => {
      throw different;
    });
  }

  function compare(/** @type {any} */ list) {
    const sorted = (/** @type {any[]} */ claims) =>
      claims
        .map((claim) => ({ ...claim, deadlock: undefined }))
        .sort((one, other) => Number(one.id) - Number(other.id));
    for (const lock of list.locks ?? []) {
      const wanted = whole(lock);
      const has = replica.locks.get(lock.name);
      assert.ok(has, `${lock.name} is missing`);
      assert.deepEqual(
        {
          ...has,
          holders: sorted(has.holders),
          waiters: has.waiters.map((claim) => ({ ...claim, deadlock: undefined })),
          limit: 0,
        },
        {
          ...wanted,
          holders: sorted(wanted.holders),
          waiters: wanted.waiters.map((claim) => ({ ...claim, deadlock: undefined })),
          limit: 0,
        },
      );
    }
    assert.equal(replica.locks.size, (list.locks ?? []).length);
  }
});
