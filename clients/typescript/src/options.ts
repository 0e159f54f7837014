// How to reach the service.
import type { Endpoint } from './endpoint.js';
import { endpointOf } from './endpoint.js';
import { InvalidError } from './errors.js';
import type { SecurityOptions } from './security.js';
import { Security } from './security.js';

/** Where a server listens that was started without arguments. */
const DEFAULT_ENDPOINT = 'http://127.0.0.1:7420';
const DEFAULT_CONNECT_TIMEOUT_MS = 500;
const DEFAULT_CALL_TIMEOUT_MS = 5000;

/** How to reach the service. Durations are milliseconds. */
export interface ClientOptions extends SecurityOptions {
  /**
   * The servers, as URLs (`http://` may be left out; `https://` speaks TLS), in a list or separated by commas. They are
   * equals: the client uses one at a time and goes to the next when that fails. Default: `http://127.0.0.1:7420`.
   */
  endpoints?: string | readonly string[];
  /** The namespace of all that the client does: 1 to 63 of a-z, 0-9 and `-`. Default: `default`. */
  namespace?: string;
  /** How long connecting to one server may take: more than 0. Default: 500. */
  connectTimeoutMs?: number;
  /**
   * How long a call may take with all its retries: more than 0. A call that waits for a lock takes as long as its wait
   * besides. Default: 5000.
   */
  callTimeoutMs?: number;
}

/** Something that can be given up by a signal; it then rejects with the signal's reason, and leaves nothing behind. */
export interface Cancellable {
  signal?: AbortSignal;
}

/** Options with their defaults, checked. */
export interface CheckedOptions {
  endpoints: readonly Endpoint[];
  namespace: string;
  connectTimeoutMs: number;
  callTimeoutMs: number;
  security: Security;
}

/** The options that are set in the environment, and not empty. */
export function optionsFromEnv(env: NodeJS.ProcessEnv): ClientOptions {
  const options = {
    endpoints: env['TENURE_ENDPOINTS']?.trim(),
    namespace: env['TENURE_NAMESPACE'],
    caCert: env['TENURE_CA_CERT'],
    clientCert: env['TENURE_CLIENT_CERT'],
    clientKey: env['TENURE_CLIENT_KEY'],
    tlsServerName: env['TENURE_TLS_SERVER_NAME'],
    token: env['TENURE_TOKEN'],
    tokenFile: env['TENURE_TOKEN_FILE'],
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value));
}

export function checkedOptions(options: ClientOptions): CheckedOptions {
  const { endpoints: urls = DEFAULT_ENDPOINT, namespace = 'default' } = options;
  const endpoints = (typeof urls === 'string' ? urls.split(',') : urls)
    .map((url) => url.trim())
    .filter((url) => url !== '')
    .map(endpointOf);
  if (endpoints.length === 0) {
    throw new InvalidError('endpoints', 'there are none');
  }
  if (!/^[a-z0-9-]{1,63}$/.test(namespace)) {
    throw new InvalidError('namespace', 'it is not 1 to 63 of a-z, 0-9 and "-"');
  }
  return {
    endpoints,
    namespace,
    connectTimeoutMs: positive('connectTimeoutMs', options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS),
    callTimeoutMs: positive('callTimeoutMs', options.callTimeoutMs ?? DEFAULT_CALL_TIMEOUT_MS),
    security: new Security(options, endpoints),
  };
}

/** A finite duration of more than nothing, which the server does not see. */
export function positive(field: string, milliseconds: number): number {
  if (!Number.isFinite(milliseconds) || milliseconds <= 0) {
    throw new InvalidError(field, 'it is not more than 0');
  }
  return milliseconds;
}

/** A finite duration, for the server to check further. */
export function duration(field: string, milliseconds: number): number {
  if (!Number.isFinite(milliseconds) || milliseconds < 0) {
    throw new InvalidError(field, 'it is no duration');
  }
  return milliseconds;
}
