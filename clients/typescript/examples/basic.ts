// Waits for a lock, works under it, and releases it.
//
// `node dist/examples/basic.js`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420).
import { Client } from 'tenure-client';

// snippet: basic
const client = Client.fromEnv();
try {
  const guard = await client.lock('nightly-report', { ttlMs: 5_000, owner: 'basic' }).acquire();
  console.log(`acquired token=${guard.token}`);
  // Send the token with each write; long work checks whether the lock is still held.
  console.log(`valid=${guard.isValid}`);
  await guard.release();
} finally {
  await client.close();
}
// snippet end
console.log('released');
