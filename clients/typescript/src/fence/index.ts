// Has the user's own database turn away stale fencing tokens: a process that is paused may write after it has lost its lock.
//
// For each name the database keeps the highest token that it has seen, and a transaction begins with a check of its token. The
// fence is installed once, like a migration: by `install`, or with `tenure fence-sql`. It works in any database, not only in
// Tenure's own, and asks no server of Tenure. What there is for people, and which settings end a wait for a transaction of a
// process that is paused, stands at the top of each `sql`.
export { mysql, postgres } from './servers.js';
export type { Queryable } from './servers.js';
export { sqlite } from './sqlite.js';
export type { SqliteDatabase, SqliteStatement } from './sqlite.js';
export { StaleTokenError } from './stale.js';
