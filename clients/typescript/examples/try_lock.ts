// A job that starts on several hosts at once: one runs it, the others print its owner.
//
// `node dist/examples/try_lock.js HOST`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420).
import { Client } from 'tenure-client';

const [, , host = 'host'] = process.argv;
await using client = Client.fromEnv();
// The hosts' clocks may differ by some seconds, and the job is shorter than that.
const job = client.lock('hourly-job', { owner: host, minHoldMs: 5_000 });
const done = await job.tryRun((hold) => console.log(`running token=${hold.token}`));
console.log(done.ran ? 'done' : `busy holder=${done.holder?.owner ?? 'unknown'}`);
