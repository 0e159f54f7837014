import { Metadata, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { fromWire, toWire } from '../../src/convert.js';
import { describeLost, InvalidError, RefusedError, UnavailableError } from '../../src/error.js';
import { checkedOptions, optionsFromEnv } from '../../src/options/client.js';
import { defaultOwner, sessionToDeclare, uuid } from '../../src/options/session.js';
import { errorOf } from '../../src/transport/status.js';
import { EndReason } from '../../src/v1.js';

describe('options', () => {
  it('take endpoints separated by commas, without the scheme too', () => {
    const addresses = (endpoints?: string | string[]) =>
      checkedOptions({ endpoints }).endpoints.map(({ address, isEncrypted }) => (isEncrypted ? 'TLS ' : '') + address);
    expect(addresses('http://a:1, b:2,')).toEqual(['a:1', 'b:2']);
    expect(addresses()).toEqual(['127.0.0.1:7420']);
    expect(addresses(['http://[::1]:7', 'https://a:1/', 'HTTP://c:80'])).toEqual(['[::1]:7', 'TLS a:1', 'c:80']);
  });

  it('have port 7420 for endpoints without one', () => {
    const given = ['a', 'http://b', 'https://c', '[::1]', 'https://[::1]/'];
    const addresses = checkedOptions({ endpoints: given }).endpoints.map(({ address }) => address);
    expect(addresses).toEqual(['a:7420', 'b:7420', 'c:7420', '[::1]:7420', '[::1]:7420']);
  });

  it.each([
    '',
    'ftp://a',
    'https://',
    'http://',
    'a b',
    'a:0',
    'a:99999',
    'a:http',
    'a:',
    'a:-1',
    'http://a/path',
    'u@a',
  ])('reject "%s" as an endpoint', (endpoints) => {
    expect(() => checkedOptions({ endpoints })).toThrow(
      expect.objectContaining({ code: 'INVALID', field: 'endpoints' }),
    );
  });

  it('reject what no server checks', () => {
    expect(() => checkedOptions({ callTimeoutMs: 0 })).toThrow(InvalidError);
    expect(() => checkedOptions({ connectTimeoutMs: Number.NaN })).toThrow(InvalidError);
    expect(() => checkedOptions({ namespace: 'No' })).toThrow(InvalidError);
  });

  it('come from the environment where it is set', () => {
    expect(optionsFromEnv({ TENURE_ENDPOINTS: 'a:1,b:2', TENURE_NAMESPACE: '' })).toEqual({ endpoints: 'a:1,b:2' });
    const secured = {
      TENURE_NAMESPACE: 'x',
      TENURE_CA_CERT: 'ca.pem',
      TENURE_CLIENT_CERT: 'me.pem',
      TENURE_CLIENT_KEY: 'me.key',
      TENURE_TLS_SERVER_NAME: 'tenure',
      TENURE_TOKEN: '',
      TENURE_TOKEN_FILE: 'token',
    };
    expect(optionsFromEnv(secured)).toEqual({
      namespace: 'x',
      caCert: 'ca.pem',
      clientCert: 'me.pem',
      clientKey: 'me.key',
      tlsServerName: 'tenure',
      tokenFile: 'token',
    });
    expect(optionsFromEnv({ TENURE_TOKEN: 'secret' })).toEqual({ token: 'secret' });
  });
});

describe('the owner of a session', () => {
  it('is by default the script and the host', () => {
    expect(defaultOwner('/srv/app/worker.js', 'host-1')).toBe('worker.js@host-1');
    const { owner } = sessionToDeclare({});
    expect(owner).toMatch(/^[^/]+@.+$/);
    expect(sessionToDeclare({ owner: '' }).owner).toBe('');
  });

  it('has at most 255 bytes, and no part of a letter', () => {
    expect(defaultOwner('w'.repeat(300), 'h')).toBe('w'.repeat(255));
    expect(defaultOwner(`w${'ä'.repeat(150)}`, 'h')).toBe(`w${'ä'.repeat(127)}`);
    expect(defaultOwner('é'.repeat(150), 'h')).toBe('é'.repeat(127));
  });
});

describe('the reason of a loss', () => {
  it('is described with the operator and the note', () => {
    const ended = { reason: EndReason.EVICTED, operator: 'anna', note: 'host is gone' };
    expect(describeLost({ reason: 'ended', ended })).toBe('evicted by anna (host is gone)');
    expect(describeLost({ reason: 'ended', ended: { ...ended, operator: '', note: '' } })).toBe('evicted');
    expect(describeLost({ reason: 'unrenewed' })).toBe('no renewal was answered in time');
  });
});

describe('a failed call', () => {
  function failure(code: status, details?: string) {
    const metadata = new Metadata();
    if (details !== undefined) {
      metadata.set('grpc-status-details-bin', Buffer.from(details, 'hex'));
    }
    return errorOf(Object.assign(new Error('x'), { code, details: 'no', metadata }));
  }
  const text = (field: number, value: string | Buffer) => {
    const bytes = Buffer.from(value as string);
    return Buffer.concat([Buffer.from([(field << 3) | 2, bytes.length]), bytes]);
  };
  const details = (domain: string) => {
    const fact = Buffer.concat([text(1, 'name'), text(2, 'job')]);
    const info = Buffer.concat([text(1, 'NOT_HOLDER'), text(2, domain), text(3, fact)]);
    const any = Buffer.concat([text(1, 'type.googleapis.com/google.rpc.ErrorInfo'), text(2, info)]);
    return Buffer.concat([Buffer.from([0x08, 0x09]), text(2, 'no'), text(3, any)]).toString('hex');
  };

  it('is decided by the reason in its details', () => {
    const error = failure(status.FAILED_PRECONDITION, details('tenure'));
    expect(error).toBeInstanceOf(RefusedError);
    expect(error).toMatchObject({ code: 'REFUSED', reason: 'NOT_HOLDER', message: 'no', metadata: { name: 'job' } });
  });

  it('whose deadline the server says has passed is no refusal', () => {
    expect(failure(status.DEADLINE_EXCEEDED, details('tenure'))).toBeInstanceOf(UnavailableError);
  });

  it('of another domain goes by its code', () => {
    expect(failure(status.PERMISSION_DENIED, details('proxy'))).toMatchObject({ code: 'REFUSED', reason: '' });
    expect(failure(status.UNAVAILABLE)).toBeInstanceOf(UnavailableError);
  });
});

describe('what goes over the wire', () => {
  it('keeps durations', () => {
    expect(toWire(1500.25)).toEqual({ seconds: 1n, nanos: 500_250_000 });
    expect(fromWire({ seconds: 2n, nanos: 5_000_000 })).toBe(2005);
    expect(fromWire({ seconds: -2n, nanos: 0 })).toBe(0);
    expect(fromWire(undefined)).toBe(0);
  });

  it('names sessions by UUIDs of version 7', () => {
    const id = uuid();
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBeCloseTo(Date.now(), -4);
  });
});
