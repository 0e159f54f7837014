// Copies of a program that share a total throughput: each prints its share, whenever that changes.
//
// `node dist/examples/group_throughput.js NAME`, several times, with a server of `TENURE_ENDPOINTS` (default: this machine's
// port 7420); `tenure group set throughput 1000` sets the total. Start and kill copies, set another total, and see the shares.
// With `exact` after the name, the shares make the total exactly: the first members get the remainder.
import { assignEach, Client, describeLost, type Standing, type v1 } from 'tenure-client';

/** The total, which is the group's config: 0 while there is none. */
function total({ config = '' }: v1.Group): number {
  return /^\d+$/.test(config) ? Number(config) : 0;
}

/** The same for all: the remainder is not used. */
function evenly(group: v1.Group) {
  const share = Math.floor(total(group) / Math.max(group.members.length, 1));
  return assignEach(group, () => String(share));
}

/** All of it: the members that joined first get one more each, until the remainder is used. */
function exactly(group: v1.Group) {
  const members = Math.max(group.members.length, 1);
  const [share, rest] = [Math.floor(total(group) / members), total(group) % members];
  return assignEach(group, (place) => String(share + (place < rest ? 1 : 0)));
}

function reportOf({ lost, assignment, isCurrent, leads, group }: Standing): string | undefined {
  if (lost !== undefined) {
    // The others no longer take this copy into account: it stops until it is a member again.
    return `lost reason=${describeLost(lost)}`;
  }
  if (!isCurrent || assignment === undefined) {
    return undefined;
  }
  return `share=${assignment} of=${total(group)} members=${group.members.length} ${leads ? 'leader' : 'member'}`;
}

const [, , name = `copy-${process.pid}`, division] = process.argv;
const stopping = new AbortController();
process.once('SIGINT', () => stopping.abort());

await using client = Client.fromEnv();
let last: string | undefined;
const onChange = (standing: Standing) => {
  const report = reportOf(standing);
  if (report !== undefined && report !== last) {
    console.log(report);
    last = report;
  }
};
const group = client.group('throughput', { ttlMs: 1_200, owner: name });
try {
  await group.takePart(division === 'exact' ? exactly : evenly, onChange, { signal: stopping.signal });
} catch (error) {
  if (!stopping.signal.aborted) {
    throw error;
  }
  console.log('stopping');
}
