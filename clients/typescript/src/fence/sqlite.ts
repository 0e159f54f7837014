// SQLite, whose drivers answer at once.
import { script } from './script.js';
import { staleness, StaleTokenError } from './stale.js';

/** What is done with a statement. */
export interface SqliteStatement {
  run(...parameters: (string | bigint)[]): unknown;
  get(...parameters: (string | bigint)[]): unknown;
}

/** A database: a `Database` of `better-sqlite3`, a `DatabaseSync` of `node:sqlite`. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/** SQLite, 3.24 or newer, by way of `better-sqlite3` or `node:sqlite`. */
export const sqlite = {
  /** The script that installs the fence, as `tenure fence-sql` prints it. */
  get sql(): string {
    return script('sqlite');
  },

  /**
   * Installs the fence, outside of any transaction; or does it again, which keeps the tokens. A step for whoever migrates the
   * database, like the migrations of other tables, not for each start of a program.
   */
  install(database: SqliteDatabase): void {
    // The script takes the view away for a moment, which nobody is to see.
    database.exec(`BEGIN IMMEDIATE; ${this.sql} COMMIT;`);
  },

  /**
   * Lets the transaction in that the database is in, unless it has seen a higher token for the name. First of all in the
   * transaction, and not in a savepoint that may be rolled back. After any error the transaction is to be rolled back.
   *
   * It may wait for every other writer, for as long as `busy_timeout` says. Throws `StaleTokenError` if the token is lower than the
   * highest one seen, and otherwise what the driver reports: after `SQLITE_BUSY` the transaction is to be run again.
   *
   * @param name the lock's, or any other for what is protected: 1 to 255 bytes, compared as they are. All tokens for a name must
   *   come from one namespace of one Tenure
   */
  check(database: SqliteDatabase, name: string, token: bigint): void {
    try {
      database.prepare('INSERT INTO tenure_fence (name, token) VALUES (?, ?)').run(name, token);
    } catch (error) {
      if (staleness(error) === undefined) {
        throw error;
      }
      // The message says no more; the transaction goes on, and so can still be asked. As a text: numbers may be rounded.
      const asked = database.prepare('SELECT CAST(token AS TEXT) AS highest FROM tenure_fences WHERE name = ?');
      const { highest } = asked.get(name) as { highest: string };
      throw new StaleTokenError(name, token, BigInt(highest), { cause: error });
    }
  },
};
