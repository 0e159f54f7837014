// PostgreSQL and MySQL.
import * as scripts from '../generated/fence.js';
import { staleness, StaleTokenError } from './stale.js';

/** A connection: a `Client` or `PoolClient` of `pg`, a `Connection` of `mysql2/promise`. */
export interface Queryable {
  query(sql: string, values?: string[]): Promise<unknown>;
}

class Fence {
  constructor(
    private readonly database: 'postgres' | 'mysql',
    private readonly call: string,
  ) {}

  /** The script that installs the fence, as `tenure fence-sql` prints it. */
  get sql(): string {
    return scripts[this.database];
  }

  /**
   * Installs the fence, outside of any transaction; or updates it, which keeps the tokens. A step of the database's migrations, not
   * of each start of a program. A connection to MySQL must accept several
   * statements at once: `multipleStatements: true`.
   */
  async install(connection: Queryable): Promise<void> {
    await connection.query(this.sql);
  }

  /**
   * Lets the connection's transaction continue, unless the database has seen a higher token for the name. The first statement of the
   * transaction, and not in a savepoint that may be rolled back. After any error the transaction must be rolled back.
   *
   * It may wait for transactions of other tokens, for as long as the settings of the database allow. Rejects with `StaleTokenError`
   * if the token is lower than the highest one seen, and otherwise with the error of the driver: after a serialization failure, a
   * deadlock or a timeout of the wait, run the transaction again.
   *
   * @param connection never a pool, which takes another connection for each statement
   * @param name the lock's, or any other for what is protected: 1 to 255 bytes, compared byte by byte. All tokens for a name must
   *   come from one namespace of one Tenure
   */
  async check(connection: Queryable, name: string, token: bigint): Promise<void> {
    try {
      await connection.query(this.call, [name, token.toString()]);
    } catch (error) {
      const highest = staleness(error)?.highest;
      throw highest === undefined ? error : new StaleTokenError(name, token, highest, { cause: error });
    }
  }
}

/** PostgreSQL, 13 or newer, with `pg`. */
export const postgres = new Fence('postgres', 'SELECT tenure_fence($1, $2)');

/** MySQL, 8.0 or newer, or MariaDB, 10.6 or newer, with `mysql2/promise`. */
export const mysql = new Fence('mysql', 'CALL tenure_fence(?, ?)');
