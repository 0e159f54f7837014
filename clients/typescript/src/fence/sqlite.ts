// SQLite, whose drivers are synchronous.
import { sqlite as script } from '../generated/fence.js';
import { staleness, StaleTokenError } from './stale.js';

/** A prepared statement. */
export interface SqliteStatement {
  run(...parameters: (string | bigint)[]): unknown;
  get(...parameters: (string | bigint)[]): unknown;
}

/** A database: a `Database` of `better-sqlite3`, a `DatabaseSync` of `node:sqlite`. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/** SQLite, 3.24 or newer, with `better-sqlite3` or `node:sqlite`. */
export const sqlite = {
  /** The script that installs the fence, as `tenure fence-sql` prints it. */
  get sql(): string {
    return script;
  },

  /**
   * Installs the fence, outside of any transaction; or updates it, which keeps the tokens. A step of the database's migrations, not
   * of each start of a program.
   */
  install(database: SqliteDatabase): void {
    // The script drops the view for a moment, which no other connection must see.
    database.exec(`BEGIN IMMEDIATE; ${this.sql} COMMIT;`);
  },

  /**
   * Lets the database's transaction continue, unless the database has seen a higher token for the name. The first statement of the
   * transaction, and not in a savepoint that may be rolled back. After any error the transaction must be rolled back.
   *
   * It may wait for every other writer, for as long as `busy_timeout` allows. Throws `StaleTokenError` if the token is lower than the
   * highest one seen, and otherwise the error of the driver: after `SQLITE_BUSY`, run the transaction again.
   *
   * @param name the lock's, or any other for what is protected: 1 to 255 bytes, compared byte by byte. All tokens for a name must
   *   come from one namespace of one Tenure
   */
  check(database: SqliteDatabase, name: string, token: bigint): void {
    try {
      database.prepare('INSERT INTO tenure_fence (name, token) VALUES (?, ?)').run(name, token);
    } catch (error) {
      if (staleness(error) === undefined) {
        throw error;
      }
      // The message has no numbers; the transaction continues, and can be queried. As a text: numbers may be rounded.
      const asked = database.prepare('SELECT CAST(token AS TEXT) AS highest FROM tenure_fences WHERE name = ?');
      const { highest } = asked.get(name) as { highest: string };
      throw new StaleTokenError(name, token, BigInt(highest), { cause: error });
    }
  },
};
