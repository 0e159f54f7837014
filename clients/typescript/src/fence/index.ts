// Lets the user's own database reject stale fencing tokens: a process that was paused may write after it has lost its lock.
//
// For each name the database keeps the highest token that it has seen, and a transaction begins with a check of its token. The
// fence is installed once, like a migration: by `install`, or with `tenure fence-sql`. It works in any database, and needs no
// contact with Tenure. The beginning of each `sql` says what it creates, and which settings end a wait for a transaction of a
// process that is paused.
export { mysql, postgres } from './servers.js';
export type { Queryable } from './servers.js';
export { sqlite } from './sqlite.js';
export type { SqliteDatabase, SqliteStatement } from './sqlite.js';
export { StaleTokenError } from './stale.js';
