// A program that uses the package as it is published, as an ES module and from CommonJS. The compiler checks it.
import { Client, fromWire, LostError, type LostReason, RefusedError, type SessionState, v1 } from 'tenure-client';
import { postgres, StaleTokenError } from 'tenure-client/fence';

export async function main(): Promise<void> {
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
  const { state }: SessionState = session.state;
  console.log(state);
  try {
    const length: number = await client
      .lock('job')
      .run((_hold, signal) => fetch('http://c', { signal }).then((r) => r.status));
    console.log(length);
    // @ts-expect-error: a body does not release the lock
    await client.lock('job').run((hold) => hold.release());
  } catch (error) {
    if (error instanceof LostError) {
      const lost: LostReason = error.lost;
      console.log(lost.reason === 'ended' ? lost.ended.reason : lost.reason);
    } else if (error instanceof RefusedError) {
      console.log(error.reason, error.metadata['name']);
    }
  }
  for await (const { revision, kind } of client.watch({ names: ['job'] })) {
    if (kind?.$case === 'events') {
      const granted = kind.value.events.filter(({ type }) => type === v1.EventType.GRANTED);
      console.log(revision, granted.length, fromWire(granted[0]?.claim?.minHold));
    }
    // @ts-expect-error: not all responses have it
    console.log(kind.value.locks);
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
  await client.evict({ name: 'job', operator: 'ann', token: 7 });
}
