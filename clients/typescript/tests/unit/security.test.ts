import { rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { InvalidError } from '../../src/error.js';
import { checkedOptions, type ClientOptions } from '../../src/options/client.js';
import { written } from '../support/files.js';

const HERE = fileURLToPath(import.meta.url);
const MISSING = `${HERE}/no-such-file`;

function authorization(options: ClientOptions): unknown[] {
  return checkedOptions(options).security.metadata().get('authorization');
}

function invalid(options: ClientOptions): { field: string; problem: string } {
  try {
    checkedOptions({ endpoints: 'https://far:1', ...options });
  } catch (error) {
    if (error instanceof InvalidError) {
      return error;
    }
  }
  return expect.unreachable();
}

describe('options of TLS and credentials that cannot be used', () => {
  it.each<[string, string, ClientOptions]>([
    ['clientCert', 'clientKey is not', { clientCert: HERE }],
    ['clientKey', 'clientCert is not', { clientKey: HERE }],
    ['token', 'tokenFile is set as well', { token: 'a', tokenFile: HERE }],
    ['caCert', 'no-such-file', { caCert: MISSING }],
    ['clientCert', 'no-such-file', { clientCert: MISSING, clientKey: HERE }],
    ['clientKey', 'no-such-file', { clientCert: HERE, clientKey: MISSING }],
    ['tokenFile', 'no-such-file', { tokenFile: MISSING }],
    ['caCert', 'no endpoint is https://', { endpoints: 'localhost:1', caCert: HERE }],
    ['clientCert', 'no endpoint is https://', { endpoints: 'http://far:1', clientCert: HERE, clientKey: HERE }],
    ['token', 'far:1 in the clear', { endpoints: 'https://near:1,http://far:1', token: 'a' }],
    ['tokenFile', '128.0.0.1:1 in the clear', { endpoints: '128.0.0.1:1', tokenFile: HERE }],
    ['token', 'empty', { token: ' ' }],
    ['token', 'no header', { token: 'a\nb' }],
    ['token', 'no header', { token: 'ä' }],
  ])('%s: %s', (field, problem, options) => {
    expect(invalid(options)).toMatchObject({ field, problem: expect.stringContaining(problem) as string });
  });

  it('name the file of a token that is none', () => {
    expect(invalid({ tokenFile: written('\n') })).toMatchObject({ field: 'tokenFile', problem: 'the token is empty' });
    expect(invalid({ tokenFile: written('a\nb') }).problem).toContain('no header');
  });
});

describe('a token', () => {
  it.each(['http://localhost:1', '127.0.0.2:1', 'http://[::1]:1', 'https://far:1'])('goes to %s', (endpoints) => {
    expect(authorization({ endpoints, token: 'secret' })).toEqual(['Bearer secret']);
  });

  it('is read from its file each time', () => {
    const tokenFile = written('first\n');
    const { security } = checkedOptions({ tokenFile });
    expect(security.metadata().get('authorization')).toEqual(['Bearer first']);
    writeFileSync(tokenFile, 'second');
    expect(security.metadata().get('authorization')).toEqual(['Bearer second']);
    rmSync(tokenFile);
    expect(() => security.metadata()).toThrow(/^no server answered in time: invalid tokenFile: ENOENT/);
  });

  it('is not sent if there is none', () => {
    expect(authorization({})).toEqual([]);
  });

  it('is not shown', () => {
    const options = checkedOptions({ token: 'secret' });
    expect(inspect(options, { depth: Infinity, showHidden: true })).not.toContain('secret');
    expect(JSON.stringify(options)).not.toContain('secret');
  });
});
