import { status } from '@grpc/grpc-js';
import { Metadata } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { clear, Timers } from '../../src/engine/timers.js';
import { Turns } from '../../src/engine/turns.js';
import { InvalidError, RefusedError, UnavailableError } from '../../src/errors.js';
import { Backoff } from '../../src/link/backoff.js';
import { errorOf } from '../../src/link/status.js';
import { checkedOptions, optionsFromEnv } from '../../src/options.js';
import { randomUuidV7 } from '../../src/session_id.js';
import { fromWire, toWire } from '../../src/convert.js';

describe('timers', () => {
  it('come due in order of time, however they were set', () => {
    const timers = new Timers();
    const done: number[] = [];
    for (const at of [5, 1, 4, 2, 3, 9]) {
      timers.set(at, () => done.push(at));
    }
    timers.due(0);
    expect(done).toEqual([]);
    timers.due(5);
    expect(done).toEqual([1, 2, 3, 4, 5]);
    expect(timers.next).toBe(9);
  });

  it('that were cleared are never due', () => {
    const timers = new Timers();
    const timer = timers.set(1, () => expect.unreachable());
    clear(timer);
    expect(timers.next).toBeUndefined();
    timers.due(2);
  });
});

describe('turns', () => {
  it('go in order of arrival for claims that share a name', () => {
    const turns = new Turns<string>();
    expect(turns.join('1', ['a'])).toBe(true);
    expect(turns.join('2', ['a', 'b'])).toBe(false);
    expect(turns.join('3', ['b']), 'nobody overtakes').toBe(false);
    expect(turns.leave('1', ['a'])).toEqual(['2']);
    expect(turns.isFirst('2', ['a', 'b'])).toBe(true);
    expect(turns.leave('2', ['a', 'b'])).toEqual(['3']);
    expect(turns.leave('3', ['b'])).toEqual([]);
    expect(turns.firstInWay(['a', 'b']), 'idle names leave nothing behind').toBeUndefined();
  });

  it('close up when somebody leaves from the middle', () => {
    const turns = new Turns<number>();
    [1, 2, 3].forEach((claim) => turns.join(claim, ['a']));
    expect(turns.leave(2, ['a'])).toEqual([1]);
    expect(turns.leave(1, ['a'])).toEqual([3]);
  });
});

describe('pauses', () => {
  it('grow within their bounds', () => {
    const backoff = new Backoff(50, 1000);
    const pauses = Array.from({ length: 40 }, () => backoff.nextPause());
    pauses.forEach((pause, tries) => {
      const step = Math.min(50 * 2 ** tries, 1000);
      expect(pause).toBeGreaterThanOrEqual(step / 2);
      expect(pause).toBeLessThanOrEqual(step);
    });
    backoff.reset();
    expect(backoff.nextPause()).toBeLessThanOrEqual(50);
  });
});

describe('options', () => {
  it('take endpoints separated by commas, without the scheme too', () => {
    const addresses = (endpoints?: string | string[]) =>
      checkedOptions({ endpoints }).endpoints.map(({ address, isEncrypted }) => (isEncrypted ? 'TLS ' : '') + address);
    expect(addresses('http://a:1, b:2,')).toEqual(['a:1', 'b:2']);
    expect(addresses()).toEqual(['127.0.0.1:7420']);
    expect(addresses(['http://[::1]:7', 'https://a:1', 'https://b'])).toEqual(['[::1]:7', 'TLS a:1', 'TLS b:443']);
  });

  it.each(['', 'ftp://a', 'https://', 'http://', 'http://a b'])('refuse "%s" as an endpoint', (endpoints) => {
    expect(() => checkedOptions({ endpoints })).toThrow(InvalidError);
  });

  it('refuse what no client can keep to', () => {
    expect(() => checkedOptions({ callTimeoutMs: 0 })).toThrow(InvalidError);
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
    expect(failure(status.PERMISSION_DENIED, details('proxy'))).toMatchObject({ reason: 'PERMISSION_DENIED' });
    expect(failure(status.UNAVAILABLE)).toBeInstanceOf(UnavailableError);
  });
});

describe('what goes over the wire', () => {
  it('keeps durations', () => {
    expect(toWire(1500.25)).toEqual({ seconds: 1n, nanos: 500_250_000 });
    expect(fromWire({ seconds: 2n, nanos: 5_000_000 })).toBe(2005);
    expect(fromWire({ seconds: -2n, nanos: 0 })).toBe(0);
  });

  it('names sessions by UUIDs of version 7', () => {
    const id = randomUuidV7();
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBeCloseTo(Date.now(), -4);
  });
});
