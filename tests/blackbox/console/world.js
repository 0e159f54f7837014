// Something of everything, for a server to have and a page to show.

import { until } from './support.js';

/** Fills a server. Says how to end its clients. @param {import('./support.js').Server} server @param {{ past?: number }} [options] */
export async function fill(server, { past = 6 } = {}) {
  /** @type {ReturnType<typeof server.client>[]} */
  const endings = [];
  const run = (/** @type {string[]} */ words) => endings.push(server.client(words));
  // Who held it before.
  for (let turn = 0; turn < past; turn += 1) {
    const owner = `worker-${(turn % 3) + 1}`;
    const session = `${owner}-${turn}`;
    server.tenure(['acquire', 'billing/nightly-report', '--session', session, '--ttl', '30s', '--owner', owner]);
    if (turn % 3 === 2)
      server.tenure(['evict', 'billing/nightly-report', '--operator', 'kim', '--note', 'host is gone']);
    else server.tenure(['close', session]);
  }
  run([
    'lock',
    'billing/nightly-report',
    '--owner',
    'worker-1',
    '--ttl',
    '6s',
    '--metadata',
    'build=1.4.2',
    '--metadata',
    'pod=report-7d9f',
    '--',
    'sleep',
    '600',
  ]);
  run(['elect', 'service_leader', '--owner', 'host-a', '--ttl', '2s', '--', 'sleep', '600']);
  const holds = (/** @type {string} */ name) => async () =>
    (await server.call('LockService/GetLock', { name })).answer.lock.holderCount;
  await until('the leader leads', holds('service_leader'));
  await until('the report runs', holds('billing/nightly-report'));
  run(['elect', 'service_leader', '--owner', 'host-b', '--ttl', '2s', '--', 'sleep', '600']);
  run(['elect', 'service_leader', '--owner', 'host-c', '--ttl', '2s', '--priority', '5', '--', 'sleep', '600']);
  run(['lock', 'billing/nightly-report', '--owner', 'worker-2', '--', 'sleep', '600']);
  run(['lock', 'billing/nightly-report', '--owner', 'worker-3', '--', 'sleep', '600']);
  run(['lock', 'billing/invoices/2026-11', '--owner', 'invoicer', '--', 'sleep', '600']);
  run(['lock', '--shared', 'catalogue/index', '--owner', 'reader-1', '--', 'sleep', '600']);
  run(['lock', '--shared', 'catalogue/index', '--owner', 'reader-2', '--', 'sleep', '600']);
  run(['lock', '--limit', '3', 'db/jobs', '--owner', 'loader-1', '--', 'sleep', '600']);
  run(['lock', '--limit', '3', 'db/jobs', '--owner', 'loader-2', '--', 'sleep', '600']);
  run(['lock', 'accounts', 'ledger', '--owner', 'booker', '--', 'sleep', '600']);
  server.tenure(['group', 'set', 'throughput', '1000']);
  const divide = `node ${new URL('divide.js', import.meta.url).pathname}`;
  for (const [host, parts] of [
    ['host-a', '2'],
    ['host-b', '1'],
    ['host-c', '1'],
  ]) {
    run(['group', 'join', 'throughput', '--assign', divide, '--owner', host, '--metadata', `parts=${parts}`]);
  }
  run(['group', 'join', 'crawlers', '--owner', 'crawler-1']);
  const isDivided = async () => {
    const { group } = (await server.call('GroupService/GetGroup', { group: 'throughput' })).answer;
    return group.members?.length === 3 && group.assignmentsCurrent;
  };
  await until('the value is divided', isDivided);
  return () => endings.forEach((ending) => ending.kill());
}
