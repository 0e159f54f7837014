// How to reach the service.
import { isIPv4 } from 'node:net';
import { InvalidError, invalidIf } from '../error.js';
import { Security, type SecurityOptions } from './security.js';

const DEFAULT_PORT = 7420;
const DEFAULT_CONNECT_TIMEOUT_MS = 500;
const DEFAULT_CALL_TIMEOUT_MS = 5000;

/** How to reach the service. Durations are milliseconds. */
export interface ClientOptions extends SecurityOptions {
  /**
   * The servers, in a list or separated by commas: `HOST`, `HOST:PORT`, `http://HOST:PORT`, or `https://HOST:PORT` with TLS. The
   * default port is 7420. They are equals: the client uses one at a time and fails over to the next. At least one. Default:
   * `http://127.0.0.1:7420`.
   */
  endpoints?: string | readonly string[];
  /** The namespace of the client: 1 to 63 of a-z, 0-9 and `-`. Default: `default`. */
  namespace?: string;
  /** How long connecting to one server may take; after a quarter of this, the next one is tried in parallel. More than 0. Default: 500. */
  connectTimeoutMs?: number;
  /**
   * How long a call may take, including retries at other servers. A call that waits for a lock may take this longer than its wait.
   * More than 0. Default: 5000.
   */
  callTimeoutMs?: number;
}

/** What can be cancelled by a signal. The call then rejects with the signal's reason, and leaves nothing at the server. */
export interface Cancellable {
  signal?: AbortSignal | undefined;
}

/** One of several servers. */
export interface Endpoint {
  /** HOST:PORT. */
  address: string;
  /** Whether it uses TLS. */
  isEncrypted: boolean;
  isThisMachine: boolean;
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
  const { endpoints: given = `127.0.0.1:${DEFAULT_PORT}`, namespace = 'default' } = options;
  const texts = (typeof given === 'string' ? given.split(',') : given).map((text) => text.trim());
  const endpoints = texts.filter((text) => text !== '').map(endpointOf);
  invalidIf(endpoints.length === 0, 'endpoints', 'there are none');
  invalidIf(!/^[a-z0-9-]{1,63}$/.test(namespace), 'namespace', 'it is not 1 to 63 of a-z, 0-9 and "-"');
  return {
    endpoints,
    namespace,
    connectTimeoutMs: positive('connectTimeoutMs', options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS),
    callTimeoutMs: positive('callTimeoutMs', options.callTimeoutMs ?? DEFAULT_CALL_TIMEOUT_MS),
    security: new Security(options, endpoints),
  };
}

/** The URL parser knows the default ports of http and https, and would hide them: so the scheme is replaced. */
function endpointOf(text: string): Endpoint {
  const [, scheme = 'http', rest = ''] = /^(?:(https?):\/\/)?(.+)$/i.exec(text) ?? [];
  const url = URL.canParse(`tenure://${rest}`) ? new URL(`tenure://${rest}`) : undefined;
  if (!url?.hostname || url.port === '0' || /[\s?#@]|\/./.test(rest) || rest.endsWith(':')) {
    throw new InvalidError(
      'endpoints',
      `"${text}" is not http://HOST:PORT or https://HOST:PORT, with a port of 1 to 65535`,
    );
  }
  const { hostname, port } = url;
  return {
    address: `${hostname}:${port || DEFAULT_PORT}`,
    isEncrypted: scheme.toLowerCase() === 'https',
    isThisMachine:
      hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.')),
  };
}

/** A finite duration of more than 0, which no server checks. */
export function positive(field: string, milliseconds: number): number {
  invalidIf(!Number.isFinite(milliseconds) || milliseconds <= 0, field, 'it is not more than 0');
  return milliseconds;
}

/** A finite duration, which the server checks further. */
export function duration(field: string, milliseconds: number): number {
  invalidIf(!Number.isFinite(milliseconds) || milliseconds < 0, field, 'it is not a duration in milliseconds');
  return milliseconds;
}
