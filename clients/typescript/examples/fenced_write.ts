// Writes under a lock to a database that turns away whoever has lost the lock, be he paused in the middle of it.
//
// `node dist/examples/fenced_write.js work.db`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420). The
// fence itself is clients/fence/sqlite.sql, as `tenure fence-sql sqlite` prints it.
import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { Client } from 'tenure-client';

const FENCE = new URL('../../../fence/sqlite.sql', import.meta.url);

const [, , file = 'work.db'] = process.argv;
const database = new Database(file);
// The script takes the view away for a moment, which nobody is to see.
database.transaction(() => database.exec(readFileSync(FENCE, 'utf8'))).immediate();
database.exec('CREATE TABLE IF NOT EXISTS reports (pages INTEGER NOT NULL)');

const passFence = database.prepare('INSERT INTO tenure_fence (name, token) VALUES (?, ?)');
const insertReport = database.prepare('INSERT INTO reports (pages) VALUES (1)');
const highestToken = database.prepare('SELECT token FROM tenure_fences WHERE name = ?').pluck().safeIntegers();

/** One write: all that belongs to it in one transaction, and the check first. */
const writing = database.transaction((token: bigint) => {
  passFence.run('nightly-report', token);
  insertReport.run();
});
const write = (token: bigint) => writing.immediate(token);

await using client = Client.fromEnv();
const lock = client.lock('nightly-report', { owner: 'fenced_write' });
const first = await lock.acquire();
console.log(`acquired token=${first.token}`);
write(first.token);
console.log('wrote');
await first.release();

// Had the first holder been paused instead, the next one would have got the lock after the TTL, and gone on like this.
const next = await lock.acquire();
console.log(`acquired token=${next.token}`);
write(next.token);
console.log('wrote');

// The first one wakes up, and does not know yet.
try {
  write(first.token);
  throw new Error('not refused');
} catch (error) {
  if (!(error instanceof Database.SqliteError && error.message === 'stale fencing token')) {
    throw error;
  }
  console.log(`refused token=${first.token} highest=${String(highestToken.get('nightly-report'))}`);
}
await next.release();
