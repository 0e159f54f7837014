// Prints who holds what, as it changes.
//
// `node dist/examples/watch.js PREFIX`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420).
import { Client, holderOf } from 'tenure-client';

const [, , prefix = ''] = process.argv;
await using client = Client.fromEnv();
for await (const told of client.watch({ prefixes: [prefix] })) {
  switch (told.kind) {
    case 'snapshot':
      console.log(`snapshot revision=${told.revision}`);
      for (const lock of told.locks) {
        const holder = holderOf(lock)?.owner ?? 'nobody';
        console.log(`lock name=${lock.name} holder=${holder} waiters=${lock.waiterCount}`);
      }
      break;
    case 'events':
      for (const { kind, name, revision, claim, endReason = '', vacant } of told.events) {
        const owner = claim?.owner ?? '';
        console.log(`${kind} name=${name} revision=${revision} owner=${owner} ${endReason}${vacant ? ' vacant' : ''}`);
      }
      break;
    case 'history_gone':
      console.log(`history is gone: ${told.cause}`);
      break;
    case 'progress':
  }
}
