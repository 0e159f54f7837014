// TLS, certificates and tokens, and files that change.
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Client, ClientOptions } from '../../src/index.js';
import { RefusedError, UnavailableError } from '../../src/index.js';
import { Authority } from '../support/authority.js';
import { newFolder, written } from '../support/files.js';
import { Driver } from '../support/program.js';
import { newToken, Server } from '../support/server.js';
import { eventually, within } from '../support/wait.js';

/** Longer than a call may take. */
const LONG_MS = 20_000;

/** A server with TLS, and the authority of its certificate and of its clients'. */
class SecuredServer {
  private constructor(
    readonly authority: Authority,
    readonly server: Server,
  ) {}

  static async start(): Promise<SecuredServer> {
    const authority = new Authority('the authority');
    const { cert, key } = authority.certify('DNS:localhost');
    const settings = ['--tls-cert', cert, '--tls-key', key, '--tls-client-ca', authority.ca];
    return new SecuredServer(authority, await Server.start(...settings));
  }

  /** A client that trusts the authority. */
  client(options: ClientOptions = {}): Client {
    const { authority, server } = this;
    return server.client({
      endpoints: server.secureEndpoint,
      caCert: authority.ca,
      callTimeoutMs: LONG_MS,
      ...options,
    });
  }

  /** With a certificate for this name. */
  certified(name: string): ClientOptions {
    const { cert, key } = this.authority.certify(name);
    return { clientCert: cert, clientKey: key };
  }
}

function succeeds(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  );
}

/** The problem of an `UnavailableError`. */
async function problemOf(call: Promise<unknown>): Promise<string> {
  const error = await call.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(UnavailableError);
  return (error as UnavailableError).problem;
}

/** Acquires a lock, reads it by a plain call, and releases it. */
async function use(client: Client): Promise<void> {
  const guard = await client.lock('job').acquire();
  expect((await client.getLock('job')).holders).toHaveLength(1);
  await guard.release();
}

/** The rule by which calls are rejected, long before their deadline: the first ones, and later ones. */
async function refusedBy(client: Client): Promise<string | undefined> {
  const refusals: RefusedError[] = [];
  const open = () => client.session();
  const calls: (() => Promise<unknown>)[] = [open, () => client.getLock('job'), open];
  for (const call of calls) {
    const error = await within(LONG_MS / 4, call()).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(RefusedError);
    refusals.push(error as RefusedError);
  }
  expect(refusals.map(({ reason }) => reason)).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED', 'UNAUTHENTICATED']);
  await within(LONG_MS / 4, client.close());
  return refusals[0]?.metadata['rule'];
}

describe('over TLS', () => {
  it('a certificate identifies the client', async () => {
    const secured = await SecuredServer.start();
    const worker = secured.certified('URI:spiffe://example/worker');
    await use(secured.client(worker));
    expect(await refusedBy(secured.client())).toBe('credentials-required');
    expect(await refusedBy(secured.client(secured.certified('IP:10.0.0.1')))).toBe('certificate-name');
    // The certificate does not replace it.
    expect(await refusedBy(secured.client({ ...worker, token: 'anything' }))).toBe('known-token');
  });

  it("the name of the server may be another than the endpoint's", async () => {
    const secured = await SecuredServer.start();
    const endpoints = secured.server.endpoint.replace('http:', 'https:');
    const worker = secured.certified('DNS:worker.example');
    await use(secured.client({ endpoints, tlsServerName: 'localhost', ...worker }));
  });

  it('untrusted peers are rejected with the problem', async () => {
    const secured = await SecuredServer.start();
    const stranger = new Authority('a stranger');
    const { cert, key } = stranger.certify('URI:spiffe://example/worker');
    const cases: [ClientOptions, RegExp][] = [
      [{ caCert: stranger.ca }, /unable to verify the first certificate/],
      [{ caCert: undefined }, /unable to verify the first certificate/],
      [{ tlsServerName: 'elsewhere' }, /Host: elsewhere\. is not in the cert's altnames/],
      [{ clientCert: cert, clientKey: key }, /unknown ca/],
      [{ clientCert: key, clientKey: key }, /caCert, clientCert or clientKey: .*no start line/],
    ];
    for (const [options, problem] of cases) {
      const client = secured.client({ callTimeoutMs: 1000, ...options });
      await expect.poll(() => problemOf(client.getLock('job')), { timeout: LONG_MS }).toMatch(problem);
    }
  });

  it('files are read for each connection', async () => {
    const secured = await SecuredServer.start();
    const caCert = join(newFolder(), 'ca.pem');
    copyFileSync(new Authority('a stranger').ca, caCert);
    const client = secured.client({ caCert, callTimeoutMs: 500, ...secured.certified('DNS:worker.example') });
    await expect.poll(() => problemOf(client.getLock('job')), { timeout: LONG_MS }).toMatch(/unable to verify/);
    copyFileSync(secured.authority.ca, caCert);
    await eventually(() => succeeds(client.getLock('job')));
  });

  it('the driver connects', async () => {
    const secured = await SecuredServer.start();
    const { cert, key } = secured.authority.certify('DNS:worker.example');
    const driver = new Driver(secured.server);
    const connect = { do: 'connect', endpoints: [secured.server.endpoint.replace('http:', 'https:')] };
    const trust = { ca_cert: secured.authority.ca, tls_server_name: 'localhost' };
    await driver.ask({ ...connect, ...trust, client: 'certified', client_cert: cert, client_key: key });
    expect(await driver.ask({ do: 'get_lock', client: 'certified', name: 'job' })).toMatchObject({ ok: {} });
    await driver.ask({ ...connect, ...trust, client: 'unknown', token: 'anything' });
    expect(await driver.ask({ do: 'get_lock', client: 'unknown', name: 'job' })).toMatchObject({
      error: { kind: 'refused', reason: 'UNAUTHENTICATED', metadata: { rule: 'known-token' } },
    });
    const wrong = { ...connect, client: 'wrong', token: 'a', token_file: 'b' };
    expect(await driver.ask(wrong)).toMatchObject({ error: { kind: 'invalid', field: 'token' } });
    expect(await driver.ask({ ...connect, client: 'wrong', client_key: key })).toMatchObject({
      error: { kind: 'invalid', field: 'client_key' },
    });
  });
});

describe('a token', () => {
  it('may be replaced at any time', async () => {
    const { token, line } = newToken('worker');
    const server = await Server.start('--tokens-file', written(line));
    const tokenFile = written('not-yet');
    const client = server.client({ tokenFile, callTimeoutMs: LONG_MS });
    const rule = { reason: 'UNAUTHENTICATED', metadata: { rule: 'known-token' } };
    await expect(within(LONG_MS / 4, use(client))).rejects.toMatchObject(rule);
    writeFileSync(tokenFile, `${token}\n`);
    await eventually(() => succeeds(use(client)));

    // For each call: the stream stays.
    const session = await client.session();
    writeFileSync(tokenFile, 'no-more');
    await expect(client.getLock('job')).rejects.toMatchObject(rule);
    expect(session.isValid).toBe(true);
    await (await session.lock('job').acquire()).release();
    writeFileSync(tokenFile, token);
    await client.getLock('job');
    expect(inspect(client, { depth: Infinity })).not.toContain(token);
  });

  it('that is rejected does not end an open session', async () => {
    const [first, second] = [newToken('worker'), newToken('worker')];
    const tokens = written(first.line);
    const tokenFile = written(first.token);
    const server = await Server.start('--tokens-file', tokens);
    const client = server.client({ tokenFile, callTimeoutMs: LONG_MS });
    const session = await client.session({ ttlMs: 60_000 });
    const guard = await session.lock('job').acquire();
    await server.kill();
    writeFileSync(tokens, second.line);
    await server.run();
    await expect(within(LONG_MS / 4, client.getLock('job'))).rejects.toMatchObject({ reason: 'UNAUTHENTICATED' });
    await expect(within(LONG_MS / 4, client.session())).rejects.toMatchObject({ reason: 'UNAUTHENTICATED' });
    expect(guard.isValid).toBe(true);

    writeFileSync(tokenFile, second.token);
    await within(LONG_MS / 4, guard.release());
  });
});
