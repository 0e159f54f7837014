// Writes under a lock to a database that rejects writes of former holders, even of those that were paused.
//
// `node dist/examples/fenced_write.js work.db`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420).
// `better-sqlite3` and `node:sqlite` are used in the same way.
import Database from 'libsql';
import { Client } from 'tenure-client';
import { sqlite, StaleTokenError } from 'tenure-client/fence';

const [, , file = 'work.db'] = process.argv;
const database = new Database(file);
sqlite.install(database);
database.exec('CREATE TABLE IF NOT EXISTS reports (pages INTEGER NOT NULL)');

// snippet: write
/** One write: all that belongs to it in one transaction, and the check first. */
const writing = database.transaction((token: bigint) => {
  sqlite.check(database, 'nightly-report', token);
  database.exec('INSERT INTO reports (pages) VALUES (1)');
});
const write = (token: bigint) => writing.immediate(token);
// snippet end

await using client = Client.fromEnv();
const lock = client.lock('nightly-report', { owner: 'fenced_write' });
const first = await lock.acquire();
console.log(`acquired token=${first.token}`);
write(first.token);
console.log('wrote');
await first.release();

// If the first holder had been paused instead, the next one would have got the lock after the TTL.
const next = await lock.acquire();
console.log(`acquired token=${next.token}`);
write(next.token);
console.log('wrote');

// The first one resumes, and has not noticed.
try {
  write(first.token);
  throw new Error('not refused');
} catch (error) {
  if (!(error instanceof StaleTokenError)) {
    throw error;
  }
  console.log(`refused token=${error.token} highest=${error.highest}`);
}
await next.release();
