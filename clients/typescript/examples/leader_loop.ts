// Copies of a program, of which only the leader works: once a second, while it leads.
//
// `node dist/examples/leader_loop.js NAME`, several times, with a server of `TENURE_ENDPOINTS` (default: this machine's port
// 7420). Kill the leader, and another one works.
import { Client } from 'tenure-client';

const [, , name = `replica-${process.pid}`] = process.argv;
const stopping = new AbortController();
process.once('SIGINT', () => stopping.abort());

await using client = Client.fromEnv();
// snippet: leader_loop
const election = client.election('service_leader', { ttlMs: 1_200, owner: name });
console.log(`candidate ${name}`);
const work = (leadership: { token: bigint }) => console.log(`work token=${leadership.token}`);
try {
  await election.leadEvery(1_000, work, { signal: stopping.signal });
} catch (error) {
  if (!stopping.signal.aborted) {
    throw error;
  }
  console.log('stopping');
}
// snippet end
