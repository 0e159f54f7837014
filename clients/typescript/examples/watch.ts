// Prints the holders of locks, as they change.
//
// `node dist/examples/watch.js PREFIX`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420).
import { Client, holderOf } from 'tenure-client';

const [, , prefix = ''] = process.argv;
await using client = Client.fromEnv();
for await (const { revision, kind } of client.watch({ prefixes: [prefix] })) {
  switch (kind?.$case) {
    case 'snapshot':
      console.log(`snapshot revision=${revision}`);
      for (const lock of kind.value.locks) {
        const holder = holderOf(lock)?.owner ?? 'none';
        console.log(`lock name=${lock.name} holder=${holder} waiters=${lock.waiterCount}`);
      }
      break;
    case 'events':
      for (const { type, names, revision, claim, endReason, vacantNames } of kind.value.events) {
        const [what, owner] = [word(type, 'EVENT_TYPE_'), claim?.owner ?? ''];
        for (const name of names) {
          const vacant = vacantNames.includes(name) ? ' vacant' : '';
          const why = word(endReason, 'END_REASON_').replace('unspecified', '');
          console.log(`${what} name=${name} revision=${revision} owner=${owner} ${why}${vacant}`);
        }
      }
      break;
    case 'historyGone':
      console.log(`history is gone: ${word(kind.value.cause, 'HISTORY_GONE_CAUSE_')}`);
  }
}

/** The value of an enum of the contract, in one word. */
function word(value: string, prefix: string): string {
  return value.replace(prefix, '').toLowerCase();
}
