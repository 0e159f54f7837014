// A program that uses the package as it is published. It only has to be right in the eyes of the compiler.
import { Client, LostError, type LostReason, RefusedError, type WatchItem } from 'tenure-client';
import { postgres, StaleTokenError } from 'tenure-client/fence';

const client = Client.connect({ endpoints: ['http://a:7420', 'http://b:7420'], namespace: 'billing' });
const session = await client.session({ ttlMs: 5_000, disconnectGraceMs: 500 });
const attempt = await session.lock('job', { permits: 2, limit: 5 }).acquireWithin(1_000);
if (attempt.acquired) {
  await using guard = attempt.guard;
  const token: bigint = guard.token;
  console.log(token, guard.signal.aborted);
} else {
  console.log(attempt.holder?.owner.length);
}
try {
  const length: number = await client
    .lock('job')
    .run((_hold, signal) => fetch('http://c', { signal }).then((r) => r.status));
  console.log(length);
} catch (error) {
  if (error instanceof LostError) {
    const lost: LostReason = error.lost;
    console.log(lost.reason === 'ended' ? lost.endReason : lost.reason);
  } else if (error instanceof RefusedError) {
    console.log(error.reason, error.metadata['name']);
  }
}
for await (const item of client.watch({ names: ['job'] })) {
  const told: WatchItem = item;
  // @ts-expect-error: of what is not told by all items
  console.log(told.locks);
}
const rows: string[] = [];
const connection = { query: (sql: string, values: string[] = []) => Promise.resolve(rows.push(sql, ...values)) };
try {
  await postgres.check(connection, 'job', 7n);
} catch (error) {
  const highest: bigint = error instanceof StaleTokenError ? error.highest : 0n;
  console.log(highest);
}
const files = { caCert: 'ca.pem', clientCert: 'worker.pem', clientKey: 'worker.key' };
Client.connect({ endpoints: 'https://locks.example:7420', ...files, tlsServerName: 'tenure' });
Client.connect({ endpoints: 'https://locks.example:7420', tokenFile: '/run/secrets/tenure-token' });
// @ts-expect-error: a token is no number
await client.evict('job', { operator: 'ann', token: 7 });
