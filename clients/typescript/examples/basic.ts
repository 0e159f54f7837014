// Waits for a lock, works under it, and gives it back.
//
// `node dist/examples/basic.js`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420).
import { Client } from 'tenure-client';

// snippet: basic
await using client = Client.fromEnv();
const guard = await client.lock('nightly-report', { ttlMs: 5_000, owner: 'basic' }).acquire();
console.log(`acquired token=${guard.token}`);
// Each write goes along with the token; work that takes long looks whether the lock is still there.
console.log(`valid=${guard.isValid}`);
await guard.release();
// snippet end
console.log('released');
