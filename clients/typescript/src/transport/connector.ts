// A connection to one server, with an open stream. Its channel is its own, so that no back-off of another one delays it.
import { Client, type ClientDuplexStream, type ServiceError } from '@grpc/grpc-js';
import { RefusedError, type TenureError, UnavailableError } from '../error.js';
import type { Endpoint } from '../options/client.js';
import type { Security } from '../options/security.js';
import { ClientServiceDefinition, type ConnectRequest, type ConnectResponse } from '../v1.js';
import { onAbort } from '../waiting.js';
import { type Method, methodOf } from './method.js';
import { errorOf } from './status.js';

const CHANNEL_OPTIONS = {
  // An idle connection is probed, so that a broken one is detected even without a session.
  'grpc.keepalive_time_ms': 5000,
  'grpc.keepalive_timeout_ms': 3000,
  'grpc.keepalive_permit_without_calls': 1,
  // The largest answer: a page of 1000 locks with 100 waiters each.
  'grpc.max_receive_message_length': 64 << 20,
  'grpc.max_send_message_length': -1,
  'grpc.enable_retries': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
};

const CONNECT = methodOf(ClientServiceDefinition, 'connect');

export class Wire {
  // Private to the runtime as well: they hold the token, which must not appear when a client is printed.
  readonly #client: Client;
  readonly #stream: ClientDuplexStream<ConnectRequest, ConnectResponse>;
  readonly #security: Security;
  readonly #left = new AbortController();
  /** Why the stream has ended. */
  private problem: TenureError | undefined;
  private ended: ((error: TenureError) => void) | undefined;

  private constructor(
    /** The index of the endpoint. */
    readonly index: number,
    endpoint: Endpoint,
    security: Security,
  ) {
    const { path, serialize, deserialize } = CONNECT;
    const options = { ...CHANNEL_OPTIONS, ...security.channelOptions };
    const metadata = security.metadata();
    this.#security = security;
    this.#client = new Client(endpoint.address, security.channelCredentials(endpoint), options);
    this.#stream = this.#client.makeBidiStreamRequest(path, serialize, deserialize, metadata);
    this.#stream.on('error', (error) => this.end(errorOf(error as ServiceError)));
    this.#stream.on('end', () => this.end(new UnavailableError('the server ended the stream')));
  }

  /**
   * Opens one, within so many milliseconds. Rejects with `UnavailableError`, or with `RefusedError` if the credentials are
   * rejected.
   */
  static open(
    index: number,
    endpoint: Endpoint,
    security: Security,
    limit: number,
    signal: AbortSignal,
  ): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const wire = new Wire(index, endpoint, security);
      const settle = () => {
        clearTimeout(timer);
        stopListening();
      };
      const fail = (error: TenureError) => {
        settle();
        wire.close();
        const isRejected = error instanceof RefusedError && error.reason === 'UNAUTHENTICATED';
        const problem = error instanceof UnavailableError ? error.problem : error.message;
        reject(isRejected ? error : new UnavailableError(`${endpoint.address}: ${problem}`));
      };
      const timer = setTimeout(() => fail(new UnavailableError(`no answer within ${limit} ms`)), limit);
      const stopListening = onAbort([signal], () => fail(new UnavailableError('no longer needed')));
      wire.ended = fail;
      // A frozen server still accepts connections; only its answer proves that it runs.
      wire.#stream.once('metadata', () => {
        settle();
        resolve(wire);
      });
    });
  }

  /** Reports what the server sends, and the end of the stream, until the client leaves it. */
  listen(received: (response: ConnectResponse) => void, ended: (error: TenureError) => void): void {
    this.#stream.on('data', (response: ConnectResponse) => this.left.aborted || received(response));
    this.ended = ended;
    if (this.problem) {
      ended(this.problem);
    }
  }

  send(request: ConnectRequest): void {
    this.#stream.write(request);
  }

  /** Fires when the client has left this server. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** Keeps the stream, and reports nothing any more. */
  leave(): void {
    this.ended = undefined;
    this.#left.abort(new UnavailableError('the connection has left the server'));
  }

  /** Makes a plain call. Rejects with the reason of the first signal that fires. */
  call<Q, A>(method: Method<Q, A>, request: Q, signals: AbortSignal[]): Promise<A> {
    return new Promise((resolve, reject) => {
      const { path, serialize, deserialize } = method;
      const metadata = this.#security.metadata();
      const call = this.#client.makeUnaryRequest(path, serialize, deserialize, request, metadata, (error, reply) => {
        stopListening();
        if (error) {
          reject(errorOf(error));
        } else {
          resolve(reply as A);
        }
      });
      const stopListening = onAbort(signals, (reason) => {
        call.cancel();
        reject(reason);
      });
    });
  }

  /** Makes a plain call with a stream of replies, until one of these signals fires. */
  async *stream<Q, A>(method: Method<Q, A>, request: Q, signals: (AbortSignal | undefined)[]): AsyncGenerator<A> {
    const { path, serialize, deserialize } = method;
    const metadata = this.#security.metadata();
    const call = this.#client.makeServerStreamRequest(path, serialize, deserialize, request, metadata);
    // The error of a call that nothing reads any more.
    call.on('error', () => undefined);
    const stopListening = onAbort(signals, () => call.cancel());
    try {
      for await (const reply of call) {
        yield reply as A;
      }
    } catch (error) {
      throw errorOf(error as ServiceError);
    } finally {
      stopListening();
      call.cancel();
    }
  }

  /** Ends the stream. Plain calls that are not repeated elsewhere may still finish. */
  close(): void {
    this.leave();
    this.#stream.cancel();
    this.#client.close();
  }

  private end(error: TenureError): void {
    this.problem ??= error;
    this.ended?.(error);
  }
}
