// The package as it is published: from CommonJS, bundled, and in plain JavaScript.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { beforeEach, describe, expect, it } from 'vitest';
import { newFolder } from '../support/files.js';
import { Server } from '../support/server.js';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));

let folder: string;

/** A program's folder, with the package. */
beforeEach(() => {
  folder = newFolder();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(PACKAGE, join(folder, 'node_modules/tenure-client'));
});

/** Runs a script in the folder, and returns what it prints. */
function run(name: string, script: string, server?: Server): string[] {
  const file = join(folder, name);
  writeFileSync(file, script);
  const env = { ...process.env, TENURE_ENDPOINTS: server?.endpoint ?? '', TENURE_NAMESPACE: '' };
  const output = execFileSync(process.execPath, [file], { encoding: 'utf8', timeout: 20_000, env });
  return output.trim().split('\n');
}

/** What `sql` prints the length of. */
function lengths(): number[] {
  return ['postgres', 'mysql', 'sqlite'].map((name) => {
    return readFileSync(join(PACKAGE, `../fence/${name}.sql`), 'utf8').length;
  });
}

const SQL_LENGTHS = 'console.log(postgres.sql.length, mysql.sql.length, sqlite.sql.length);';

describe('the package', () => {
  it('works from CommonJS', async () => {
    const server = await Server.start();
    const script = `
      const { Client, LostError, v1 } = require('tenure-client');
      const { postgres, mysql, sqlite, StaleTokenError } = require('tenure-client/fence');
      (async () => {
        const client = Client.fromEnv();
        const guard = await client.lock('job').acquire();
        const { holders } = await client.getLock('job');
        console.log(holders[0].state === v1.ClaimState.HELD, holders[0].token === guard.token);
        await guard.release();
        console.log(await guard.release().catch((error) => error instanceof LostError && error.code));
        await client.close();
        ${SQL_LENGTHS}
        console.log(new StaleTokenError('job', 1n, 2n).code);
      })();`;
    expect(run('main.cjs', script, server)).toEqual(['true true', 'LOST', lengths().join(' '), 'STALE_TOKEN']);
  });

  it('gives the owner of a session the name of the script', async () => {
    const server = await Server.start();
    const script = `
      import { Client } from 'tenure-client';
      const client = Client.fromEnv();
      console.log((await client.session()).owner);
      await client.close();`;
    const [owner] = run('nightly-worker.mjs', script, server);
    expect(owner).toMatch(/^nightly-worker\.mjs@./);
  });

  it.each(['esm', 'cjs'] as const)('can be bundled with its SQL, as %s', (format) => {
    const entry = join(folder, 'main.mjs');
    writeFileSync(entry, `import { postgres, mysql, sqlite } from 'tenure-client/fence'; ${SQL_LENGTHS}`);
    const [bundled] = buildSync({
      entryPoints: [entry],
      bundle: true,
      platform: 'node',
      format,
      write: false,
    }).outputFiles;
    // In a folder without the package.
    folder = newFolder();
    expect(run(format === 'esm' ? 'out.mjs' : 'out.cjs', bundled!.text)).toEqual([lengths().join(' ')]);
  });
});

describe('the first example of the README', () => {
  it('runs in plain JavaScript', async () => {
    const server = await Server.start();
    const [, script = ''] = /```js\n(.*?)```/s.exec(readFileSync(join(PACKAGE, 'README.md'), 'utf8')) ?? [];
    expect(script).toContain("from 'tenure-client'");
    expect(script).not.toContain('await using');
    expect(run('main.mjs', script.replace("'http://127.0.0.1:7420'", `'${server.endpoint}'`))).toEqual([
      expect.stringMatching(/^holding with token \d+$/),
    ]);
  });
});
