// Where servers are.
import { isIPv4 } from 'node:net';
import { InvalidError } from './errors.js';

/** One of several servers that are equals. */
export interface Endpoint {
  /** HOST:PORT. */
  address: string;
  /** Whether it speaks TLS. */
  isEncrypted: boolean;
  /** Whether what goes there stays on this machine. */
  isThisMachine: boolean;
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** From a URL, of which `http://` may be left out. */
export function endpointOf(text: string): Endpoint {
  const full = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  const defaultPort = DEFAULT_PORTS[url?.protocol ?? ''];
  if (url === undefined || defaultPort === undefined) {
    throw new InvalidError('endpoints', `"${text}" is not http://HOST:PORT or https://HOST:PORT`);
  }
  const { protocol, hostname, port } = url;
  return {
    address: `${hostname}:${port || defaultPort}`,
    isEncrypted: protocol === 'https:',
    isThisMachine:
      hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.')),
  };
}
