// The fence, in real databases, by way of their usual drivers. `libsql` is a `better-sqlite3` that need not be compiled.
import Database from 'libsql';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mysql, postgres, sqlite, StaleTokenError } from '../../src/fence/index.js';

/** A database with a fence, and what can be done with it. */
interface Fenced {
  install: () => Promise<unknown>;
  /** Runs a transaction with a token. */
  letIn: (name: string, token: bigint) => Promise<unknown>;
}

function url(variable: string): string {
  const value = process.env[variable];
  if (value === undefined) {
    throw new Error(`set ${variable} to the URL of a database`);
  }
  return value;
}

async function inPostgres(): Promise<Fenced> {
  const client = new pg.Client({ connectionString: url('TEST_POSTGRES_URL') });
  await client.connect();
  onTestFinished(() => client.end());
  const run = (sql: string) => client.query(sql);
  return { install: () => postgres.install(client), letIn: transaction(run, (...at) => postgres.check(client, ...at)) };
}

async function inMysql(): Promise<Fenced> {
  const connection = await createConnection({ uri: url('TEST_MYSQL_URL'), multipleStatements: true });
  onTestFinished(() => connection.end());
  const run = (sql: string) => connection.query(sql);
  return {
    install: () => mysql.install(connection),
    letIn: transaction(run, (...at) => mysql.check(connection, ...at)),
  };
}

function inSqlite(): Fenced {
  const database = new Database(':memory:');
  onTestFinished(() => void database.close());
  return {
    install: settled(() => sqlite.install(database)),
    letIn: settled((name, token) => {
      database.transaction(() => sqlite.check(database, name, token)).immediate();
    }),
  };
}

/** What is done at once, in the form of what is not. */
function settled<A extends unknown[]>(work: (...given: A) => void): (...given: A) => Promise<void> {
  return (...given) => Promise.resolve().then(() => work(...given));
}

function transaction(run: (sql: string) => Promise<unknown>, check: Fenced['letIn']): Fenced['letIn'] {
  return async (name, token) => {
    await run('START TRANSACTION');
    try {
      await check(name, token);
    } catch (error) {
      await run('ROLLBACK');
      throw error;
    }
    await run('COMMIT');
  };
}

describe.each([
  ['pg', inPostgres],
  ['mysql2', inMysql],
  ['better-sqlite3', inSqlite],
])('a fence by way of %s', (_, open) => {
  /** A name that no other test uses. */
  const someName = () => `job-${process.hrtime.bigint()}`;

  it('refuses what is lower than the highest token seen', async () => {
    const { install, letIn } = await open();
    await install();
    const name = someName();
    for (const token of [5n, 5n, 2n ** 53n + 1n]) {
      await letIn(name, token);
    }
    const refused = await letIn(name, 6n).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StaleTokenError);
    expect(refused).toMatchObject({ code: 'STALE_TOKEN', fence: name, token: 6n, highest: 2n ** 53n + 1n });
    await letIn(someName(), 6n);
  });

  it('is installed again and keeps its tokens', async () => {
    const { install, letIn } = await open();
    await install();
    const name = someName();
    await letIn(name, 7n);
    await install();
    await expect(letIn(name, 6n)).rejects.toBeInstanceOf(StaleTokenError);
  });

  it('passes on what else the database says', async () => {
    const { install, letIn } = await open();
    await install();
    await expect(letIn('', 5n)).rejects.toThrow(/the name must/);
    await expect(letIn(someName(), 0n)).rejects.toThrow(/the token must/);
  });
});
