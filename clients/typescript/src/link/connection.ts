// One connection to one server, with an open stream. A fresh channel each time, so that no other's pauses have a say.
import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import { Client } from '@grpc/grpc-js';
import type { Endpoint } from '../endpoint.js';
import { UnavailableError } from '../errors.js';
import { ClientServiceService } from '../generated/tenure/v1/client.js';
import type { Command, StreamRequest, StreamResponse } from '../generated/tenure/v1/stream.js';
import { abortable } from '../latest.js';
import type { Security } from '../security.js';
import { errorOf, refusalOf } from './status.js';

/** An idle connection is probed this often ... */
const PROBE_INTERVAL_MS = 5000;
/** ... and the answer may take this long. */
const PROBE_TIMEOUT_MS = 3000;
/** The largest answer that is taken: a page of 1000 locks with 100 waiters each. */
const LARGEST_ANSWER = 64 << 20;

const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': PROBE_INTERVAL_MS,
  'grpc.keepalive_timeout_ms': PROBE_TIMEOUT_MS,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.max_receive_message_length': LARGEST_ANSWER,
  'grpc.max_send_message_length': -1,
  'grpc.enable_retries': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
};

/** A plain call, as the generated code describes it. */
export interface Method<Q, A> {
  path: string;
  requestSerialize: (request: Q) => Buffer;
  responseDeserialize: (bytes: Buffer) => A;
}

export interface NumberedEndpoint extends Endpoint {
  /** Its place among the client's endpoints. */
  number: number;
}

/** What is told of a connection. */
export interface Listener {
  received(response: StreamResponse): void;
  /** There is room for commands again. */
  drained(): void;
  ended(problem: string): void;
}

export class Connection {
  // Private to the runtime as well: they hold the token, which nothing that prints a client is to show.
  readonly #client: Client;
  readonly #stream: ClientDuplexStream<StreamRequest, StreamResponse>;
  private isFull = false;
  private end: string | undefined;
  private listener: Listener | undefined;

  private constructor(
    readonly endpoint: NumberedEndpoint,
    private readonly security: Security,
  ) {
    const metadata = security.metadata();
    const options = { ...CHANNEL_OPTIONS, ...security.channelOptions };
    this.#client = new Client(endpoint.address, security.channelCredentials(endpoint), options);
    const { path, requestSerialize, responseDeserialize } = ClientServiceService.stream;
    this.#stream = this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
    this.#stream.on('error', (error) => this.over((error as ServiceError).details));
  }

  /**
   * Opens one, within `limit` milliseconds. A server that is frozen still accepts connections; only its answer counts. Rejects
   * with `UnavailableError`, or with `RefusedError` if the server does not know who this is.
   */
  static open(endpoint: NumberedEndpoint, security: Security, limit: number, signal: AbortSignal): Promise<Connection> {
    return abortable(signal, (resolve, reject) => {
      const connection = new Connection(endpoint, security);
      const fail = (error: Error) => {
        clearTimeout(timer);
        connection.close();
        reject(error);
      };
      const unavailable = (problem: string) => new UnavailableError(`${endpoint.address}: ${problem}`);
      const timer = setTimeout(() => fail(unavailable(`no answer within ${limit} ms`)), limit);
      connection.#stream.once('metadata', () => {
        clearTimeout(timer);
        resolve(connection);
      });
      connection.#stream.once('error', (error) => {
        const refusal = refusalOf(error as ServiceError);
        fail(refusal?.isUnauthenticated === true ? refusal : unavailable((error as ServiceError).details));
      });
      return () => {
        clearTimeout(timer);
        connection.close();
      };
    });
  }

  /** Has everything told from now on. */
  listen(listener: Listener): void {
    this.listener = listener;
    this.#stream.on('data', (response: StreamResponse) => this.listener?.received(response));
    this.#stream.on('end', () => this.over('the server ended the stream'));
    this.#stream.on('drain', () => {
      this.isFull = false;
      this.listener?.drained();
    });
    if (this.end !== undefined) {
      listener.ended(this.end);
    }
  }

  /** Has nothing told any more: it only has to stay open. */
  park(): void {
    this.listener = undefined;
  }

  /** Whether commands can be sent. What waits here could not be gathered into larger messages any more. */
  get hasRoom(): boolean {
    return !this.isFull;
  }

  send(commands: Command[]): void {
    this.isFull = !this.#stream.write({ commands });
  }

  /** A plain call on the same connection. Whoever calls bounds the time by the signal. */
  call<Q, A>(method: Method<Q, A>, request: Q, signal: AbortSignal): Promise<A> {
    return abortable(signal, (resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        this.security.metadata(),
        (error, answer) => {
          if (error !== null) {
            reject(errorOf(error));
          } else if (answer !== undefined) {
            resolve(answer);
          }
        },
      );
      return () => call.cancel();
    });
  }

  close(): void {
    this.listener = undefined;
    this.#stream.cancel();
    this.#client.close();
  }

  private over(problem: string): void {
    this.end ??= problem;
    this.listener?.ended(problem);
  }
}
