// How connections are secured, and how this client authenticates.
import { readFileSync } from 'node:fs';
import { type ChannelCredentials, type ChannelOptions, credentials, Metadata } from '@grpc/grpc-js';
import type { Endpoint } from './client.js';
import { InvalidError, invalidIf, UnavailableError } from '../error.js';

/** TLS and credentials. Files are paths; they are read again when they are needed, so that they may be replaced. */
export interface SecurityOptions {
  /**
   * The CA of the servers' certificates: a PEM file, read for each connection. Needs an `https://` endpoint. Default: those that
   * Node trusts, `NODE_EXTRA_CA_CERTS` included.
   */
  caCert?: string;
  /** This client's certificate: a PEM file, read for each connection. Needs `clientKey` and an `https://` endpoint. Default: none. */
  clientCert?: string;
  /** The private key of `clientCert`: a PEM file, read for each connection. Default: none. */
  clientKey?: string;
  /** The name that the servers' certificates must have. Default: the endpoint's host. */
  tlsServerName?: string;
  /**
   * The token of this client: printable ASCII, not empty, and not together with `tokenFile`. Rejected with endpoints at `http://`,
   * except on this machine. Default: none.
   */
  token?: string;
  /** The file of that token, read for each stream and each call. Default: none. */
  tokenFile?: string;
}

const TLS_FILES = ['caCert', 'clientCert', 'clientKey'] as const;

export class Security {
  // Private to the runtime as well, so that the token is not shown when a client or its options are printed.
  readonly #options: SecurityOptions;

  /** Throws `InvalidError` for what can be checked before there is a connection. */
  constructor(options: SecurityOptions, endpoints: readonly Endpoint[]) {
    this.#options = { ...options };
    const { clientCert, clientKey, token, tokenFile } = options;
    invalidIf(!!clientCert && !clientKey, 'clientCert', 'it is set, but clientKey is not');
    invalidIf(!!clientKey && !clientCert, 'clientKey', 'it is set, but clientCert is not');
    invalidIf(!!token && !!tokenFile, 'token', 'it is set, and tokenFile is set as well: set one of them');
    const plaintext = endpoints.find(({ isEncrypted, isThisMachine }) => !isEncrypted && !isThisMachine);
    const problem = `it would be sent to ${plaintext?.address} in the clear: use https://`;
    invalidIf(!!plaintext && !!token, 'token', problem);
    invalidIf(!!plaintext && !!tokenFile, 'tokenFile', problem);
    const isPlaintext = endpoints.every(({ isEncrypted }) => !isEncrypted);
    for (const field of TLS_FILES) {
      invalidIf(isPlaintext && !!options[field], field, 'it is set, but no endpoint is https://');
      this.read(field);
    }
    this.authorization();
  }

  /** The credentials of a connection to this endpoint. Throws `UnavailableError` if a file cannot be used now. */
  channelCredentials({ isEncrypted }: Endpoint): ChannelCredentials {
    if (!isEncrypted) {
      return credentials.createInsecure();
    }
    const [ca, cert, key] = usableNow(() => TLS_FILES.map((field) => this.read(field)));
    return usableNow(() => credentials.createSsl(ca, key, cert), 'caCert, clientCert or clientKey: ');
  }

  get channelOptions(): ChannelOptions {
    const { tlsServerName } = this.#options;
    return tlsServerName === undefined ? {} : { 'grpc.ssl_target_name_override': tlsServerName };
  }

  /** The headers of a stream or a call. Throws `UnavailableError` if the token cannot be read now. */
  metadata(): Metadata {
    const metadata = new Metadata();
    const authorization = usableNow(() => this.authorization());
    if (authorization !== undefined) {
      metadata.set('authorization', authorization);
    }
    return metadata;
  }

  private authorization(): string | undefined {
    const { token } = this.#options;
    const field = token === undefined ? 'tokenFile' : 'token';
    const text = (token ?? this.read('tokenFile')?.toString())?.trim();
    invalidIf(text === '', field, 'the token is empty');
    const isPrintable = /^[ -~]*$/.test(text ?? '');
    invalidIf(!isPrintable, field, 'the token has letters that no header may have: only printable ASCII');
    return text && `Bearer ${text}`;
  }

  private read(field: (typeof TLS_FILES)[number] | 'tokenFile'): Buffer | undefined {
    const file = this.#options[field];
    try {
      return file === undefined ? undefined : readFileSync(file);
    } catch (error) {
      throw new InvalidError(field, (error as Error).message);
    }
  }
}

/** A file that was usable when the client was created may be so again at the next attempt. */
function usableNow<T>(use: () => T, what = ''): T {
  try {
    return use();
  } catch (error) {
    throw new UnavailableError(what + (error as Error).message);
  }
}
