// TLS, certificates and tokens: who is served, who is told what, and files that change.
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Client, ClientOptions } from '../../src/index.js';
import { RefusedError, UnavailableError } from '../../src/index.js';
import { dial } from '../../src/link/dial.js';
import { checkedOptions } from '../../src/options.js';
import { Authority } from '../support/authority.js';
import { newFolder, written } from '../support/files.js';
import { Driver } from '../support/program.js';
import { newToken, Server } from '../support/server.js';
import { eventually, within } from '../support/wait.js';

/** As long as no call is to take. */
const LONG_MS = 20_000;

/** A server that speaks TLS, and the authority of its certificate and of its clients'. */
class Office {
  private constructor(
    readonly authority: Authority,
    readonly server: Server,
  ) {}

  static async open(): Promise<Office> {
    const authority = new Authority('the office');
    const { cert, key } = authority.certify('DNS:localhost');
    const settings = ['--tls-cert', cert, '--tls-key', key, '--tls-client-ca', authority.ca];
    return new Office(authority, await Server.start(...settings));
  }

  /** A client that knows the authority. */
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

/** Why no server answered. */
async function problemOf(call: Promise<unknown>): Promise<string> {
  const error = await call.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(UnavailableError);
  return (error as UnavailableError).problem;
}

/** Takes a lock and gives it back; asks for it by a plain call, too. */
async function use(client: Client): Promise<void> {
  const guard = await client.lock('job').acquire();
  expect((await client.getLock('job')).holders).toHaveLength(1);
  await guard.release();
}

/** The rule by which it is refused, long before the call's time is over: at first, and later on. */
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
  it('a certificate says who it is', async () => {
    const office = await Office.open();
    const worker = office.certified('URI:spiffe://office/worker');
    await use(office.client(worker));
    expect(await refusedBy(office.client())).toBe('credentials-required');
    expect(await refusedBy(office.client(office.certified('IP:10.0.0.1')))).toBe('certificate-name');
    // The certificate does not make up for it.
    expect(await refusedBy(office.client({ ...worker, token: 'anything' }))).toBe('known-token');
  });

  it('the name to be shown may be another than the endpoint', async () => {
    const office = await Office.open();
    const endpoints = office.server.endpoint.replace('http:', 'https:');
    const worker = office.certified('DNS:worker.office');
    await use(office.client({ endpoints, tlsServerName: 'localhost', ...worker }));
  });

  it('who is not to be trusted is told so', async () => {
    const office = await Office.open();
    const stranger = new Authority('a stranger');
    const { cert, key } = stranger.certify('URI:spiffe://office/worker');
    const cases: [ClientOptions, RegExp][] = [
      [{ caCert: stranger.ca }, /unable to verify the first certificate/],
      [{ caCert: undefined }, /unable to verify the first certificate/],
      [{ tlsServerName: 'elsewhere' }, /Host: elsewhere\. is not in the cert's altnames/],
      [{ clientCert: cert, clientKey: key }, /unknown ca/],
      [{ clientCert: key, clientKey: key }, /caCert, clientCert or clientKey: .*no start line/],
    ];
    for (const [options, problem] of cases) {
      const client = office.client({ callTimeoutMs: 1000, ...options });
      await expect.poll(() => problemOf(client.getLock('job')), { timeout: LONG_MS }).toMatch(problem);
    }
  });

  it('files are read for each connection', async () => {
    const office = await Office.open();
    const caCert = join(newFolder(), 'ca.pem');
    copyFileSync(new Authority('a stranger').ca, caCert);
    const client = office.client({ caCert, callTimeoutMs: 500, ...office.certified('DNS:worker.office') });
    await expect.poll(() => problemOf(client.getLock('job')), { timeout: LONG_MS }).toMatch(/unable to verify/);
    copyFileSync(office.authority.ca, caCert);
    await eventually(() => succeeds(client.getLock('job')));
  });

  it('the driver connects', async () => {
    const office = await Office.open();
    const { cert, key } = office.authority.certify('DNS:worker.office');
    const driver = new Driver(office.server);
    const connect = { do: 'connect', endpoints: [office.server.endpoint.replace('http:', 'https:')] };
    const trust = { ca_cert: office.authority.ca, tls_server_name: 'localhost' };
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
  it('may be replaced while all goes on', async () => {
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

  it('that is refused is told of although other servers are away', async () => {
    const { line } = newToken('worker');
    const [dead, server] = [await Server.start(), await Server.start('--tokens-file', written(line))];
    await dead.kill();
    const options = checkedOptions({ endpoints: [dead.endpoint, server.endpoint], token: 'anything' });
    const endpoints = options.endpoints.map((endpoint, number) => ({ ...endpoint, number }));
    const pace = { limit: LONG_MS, stagger: Infinity };
    for (const order of [endpoints, endpoints.toReversed()]) {
      const dialled = dial(order, options.security, pace, new AbortController().signal);
      await expect(dialled).rejects.toMatchObject({ reason: 'UNAUTHENTICATED' });
    }
  });

  it('that is refused does not end a session that is open', async () => {
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
