// Copies of a program that share a total throughput: each prints what it may use, whenever that changes.
//
// `node dist/examples/group_throughput.js NAME`, several times, with a server of `TENURE_ENDPOINTS` (default: this machine's
// port 7420); `tenure group set throughput 1000` sets the total. Start and kill copies, set another total, and see the shares.
// With `exact` after the name, the shares make the total exactly: the first members get what the division leaves over.
import type { Group, Standing } from 'tenure-client';
import { assignEach, Client, describeLost } from 'tenure-client';

/** The total, which is the group's config: 0 while there is none. */
function total({ config = '' }: Group): number {
  return /^\d+$/.test(config) ? Number(config) : 0;
}

/** The same for all: what the division leaves over is not used. */
function evenly(group: Group) {
  const share = Math.floor(total(group) / Math.max(group.members.length, 1));
  return assignEach(group, () => String(share));
}

/** All of it: the members that joined first get one more each, as far as that goes. */
function exactly(group: Group) {
  const members = Math.max(group.members.length, 1);
  const [share, rest] = [Math.floor(total(group) / members), total(group) % members];
  return assignEach(group, (place) => String(share + (place < rest ? 1 : 0)));
}

function reportOf({ lost, assignment, isCurrent, leads, group }: Standing): string | undefined {
  if (lost !== undefined) {
    // Nobody else knows of this copy's use any more: it stops until it is a member again.
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
const told = (standing: Standing) => {
  const report = reportOf(standing);
  if (report !== undefined && report !== last) {
    console.log(report);
    last = report;
  }
};
const group = client.group('throughput', { ttlMs: 1_200, owner: name });
try {
  await group.takePart(division === 'exact' ? exactly : evenly, told, { signal: stopping.signal });
} catch (error) {
  if (!stopping.signal.aborted) {
    throw error;
  }
  console.log('stopping');
}
