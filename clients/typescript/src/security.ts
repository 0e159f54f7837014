// How connections are secured, and how this client proves who it is.
import { readFileSync } from 'node:fs';
import type { ChannelCredentials, ChannelOptions } from '@grpc/grpc-js';
import { credentials, Metadata } from '@grpc/grpc-js';
import type { Endpoint } from './endpoint.js';
import { InvalidError, UnavailableError } from './errors.js';

/** TLS and credentials. Files are paths; they are read again when they are needed, so that they may be replaced. */
export interface SecurityOptions {
  /**
   * Who signs the certificates of servers at `https://`: a PEM file, read for each connection. Needs an `https://` endpoint.
   * Default: those whom Node trusts, `NODE_EXTRA_CA_CERTS` included.
   */
  caCert?: string;
  /**
   * This client's certificate: a PEM file, read for each connection. Needs `clientKey` and an `https://` endpoint. Default:
   * none.
   */
  clientCert?: string;
  /** The private key of `clientCert`: a PEM file, read for each connection. Default: none. */
  clientKey?: string;
  /** The name that the servers' certificates must have. Default: the endpoint's host. */
  tlsServerName?: string;
  /**
   * The token that says who this is: not empty, and not beside `tokenFile`. It is refused with endpoints at `http://`, except
   * on this machine. Default: none.
   */
  token?: string;
  /** The file where that token stands, in place of `token`. It is read for each stream and each call. Default: none. */
  tokenFile?: string;
}

/** What a header may hold. */
const HEADER_TEXT = /^[ -~]*$/;

const TLS_FILES = ['caCert', 'clientCert', 'clientKey'] as const;

export class Security {
  // Private to the runtime as well, so that whatever prints a client or its options does not show the token.
  readonly #options: SecurityOptions;

  /** Throws `InvalidError` for what can be found out before there is a connection. */
  constructor(options: SecurityOptions, endpoints: readonly Endpoint[]) {
    this.#options = { ...options };
    this.checkPairs();
    this.checkEndpoints(endpoints);
    TLS_FILES.forEach((field) => this.read(field));
    this.authorization();
  }

  /** What a connection to this endpoint is made with. Throws `UnavailableError` if a file cannot be used now. */
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

  /** What goes along with a stream or a call. Throws `UnavailableError` if the token cannot be read now. */
  metadata(): Metadata {
    const metadata = new Metadata();
    const authorization = usableNow(() => this.authorization());
    if (authorization !== undefined) {
      metadata.set('authorization', authorization);
    }
    return metadata;
  }

  private checkPairs(): void {
    const { clientCert, clientKey, token, tokenFile } = this.#options;
    if (clientCert !== undefined && clientKey === undefined) {
      throw new InvalidError('clientCert', 'it is set, but clientKey is not');
    }
    if (clientKey !== undefined && clientCert === undefined) {
      throw new InvalidError('clientKey', 'it is set, but clientCert is not');
    }
    if (token !== undefined && tokenFile !== undefined) {
      throw new InvalidError('token', 'it is set, and tokenFile is set as well: set one of them');
    }
  }

  private checkEndpoints(endpoints: readonly Endpoint[]): void {
    const inTheClear = endpoints.find(({ isEncrypted, isThisMachine }) => !isEncrypted && !isThisMachine);
    const token = this.firstSet(['token', 'tokenFile']);
    if (token !== undefined && inTheClear !== undefined) {
      throw new InvalidError(token, `it would go to ${inTheClear.address} in the clear: use https://`);
    }
    const file = this.firstSet(TLS_FILES);
    if (file !== undefined && !endpoints.some(({ isEncrypted }) => isEncrypted)) {
      throw new InvalidError(file, 'it is set, but no endpoint is https://');
    }
  }

  private firstSet(fields: readonly (keyof SecurityOptions)[]): keyof SecurityOptions | undefined {
    return fields.find((field) => this.#options[field] !== undefined);
  }

  private authorization(): string | undefined {
    const { token } = this.#options;
    const field = token === undefined ? 'tokenFile' : 'token';
    const text = (token ?? this.read('tokenFile')?.toString())?.trim();
    if (text === undefined) {
      return undefined;
    }
    if (text === '') {
      throw new InvalidError(field, 'the token is empty');
    }
    if (!HEADER_TEXT.test(text)) {
      throw new InvalidError(field, 'the token has letters that no header may have');
    }
    return `Bearer ${text}`;
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

/** A file that was usable when the client was made may be so again at the next try. */
function usableNow<T>(use: () => T, what = ''): T {
  try {
    return use();
  } catch (error) {
    throw new UnavailableError(what + (error as Error).message);
  }
}
