// How to reach the service.
import { InvalidError } from './errors.js';

/** Where a server listens that was started without arguments. */
const DEFAULT_ENDPOINT = 'http://127.0.0.1:7420';
const DEFAULT_CONNECT_TIMEOUT_MS = 500;
const DEFAULT_CALL_TIMEOUT_MS = 5000;

/** How to reach the service. Durations are milliseconds. */
export interface ClientOptions {
  /**
   * The servers, as URLs (`http://` may be left out), in a list or separated by commas. They are equals: the client uses one
   * at a time and goes to the next when that fails. Default: `http://127.0.0.1:7420`.
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
  /** HOST:PORT of each endpoint. */
  addresses: readonly string[];
  namespace: string;
  connectTimeoutMs: number;
  callTimeoutMs: number;
}

/** `TENURE_ENDPOINTS` and `TENURE_NAMESPACE`, where they are set and not empty. */
export function optionsFromEnv(env: NodeJS.ProcessEnv): ClientOptions {
  const endpoints = env['TENURE_ENDPOINTS']?.trim();
  const namespace = env['TENURE_NAMESPACE'];
  return { ...(endpoints && { endpoints }), ...(namespace && { namespace }) };
}

export function checkedOptions(options: ClientOptions): CheckedOptions {
  const { endpoints = DEFAULT_ENDPOINT, namespace = 'default' } = options;
  const list = typeof endpoints === 'string' ? endpoints.split(',') : endpoints;
  const addresses = list
    .map((endpoint) => endpoint.trim())
    .filter((endpoint) => endpoint !== '')
    .map(addressOf);
  if (addresses.length === 0) {
    throw new InvalidError('endpoints', 'there are none');
  }
  if (!/^[a-z0-9-]{1,63}$/.test(namespace)) {
    throw new InvalidError('namespace', 'it is not 1 to 63 of a-z, 0-9 and "-"');
  }
  return {
    addresses,
    namespace,
    connectTimeoutMs: positive('connectTimeoutMs', options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS),
    callTimeoutMs: positive('callTimeoutMs', options.callTimeoutMs ?? DEFAULT_CALL_TIMEOUT_MS),
  };
}

function addressOf(endpoint: string): string {
  const text = endpoint.includes('://') ? endpoint : `http://${endpoint}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:') {
    throw new InvalidError('endpoints', `"${endpoint}": TLS is not supported yet`);
  }
  if (url?.protocol !== 'http:') {
    throw new InvalidError('endpoints', `"${endpoint}" is not http://HOST:PORT`);
  }
  return `${url.hostname}:${url.port || '80'}`;
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
