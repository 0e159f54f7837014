// Owns the stream, passes messages between it and the protocol, and connects to the next server when it fails.
import { randomUUID } from 'node:crypto';
import { type Moment, now } from '../clock.js';
import type { Connection } from '../connection/connection.js';
import { ClosedError, RefusedError, TenureError, UnavailableError } from '../error.js';
import type { CheckedOptions } from '../options/client.js';
import type { ConnectResponse } from '../v1.js';
import { Backoff, sleep } from '../waiting.js';
import { Wire } from './connector.js';
import { dial } from './dial.js';

/** Pauses between failed rounds of connection attempts: from this ... */
const FIRST_PAUSE_MS = 50;
/** ... to this. */
const LONGEST_PAUSE_MS = 1000;
/** After a stream that was shorter than this, or was not confirmed at all, there is a pause before the next one. */
const SHORT_LIVED_MS = 500;
/** The runtime's timers stop during suspend, so the clock is read at least this often. */
const LONGEST_SLEEP_MS = 1000;
/** The next endpoint is tried in parallel when one has not answered for this part of the connect timeout ... */
const STAGGER_OF_TIMEOUT = 4;
/** ... or of the shortest time for which a session is valid ... */
const STAGGER_OF_VALIDITY = 12;
/** ... but not earlier than this. */
const SHORTEST_STAGGER_MS = 10;

export class Driver {
  private epoch = 0;
  private stream: Wire | undefined;
  /** The stream before, until the server of the current one has taken over: its end would be a disconnect. */
  private before: Wire | undefined;
  private isDialling = false;
  private nextEndpoint: number;
  /** When the server of the current stream confirmed its Hello. */
  private welcomedAt: Moment | undefined;
  private readonly backoff = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  private readonly closed = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private isTurnDue = false;

  constructor(
    private readonly connection: Connection,
    private readonly options: CheckedOptions,
  ) {
    this.nextEndpoint = Math.floor(Math.random() * options.endpoints.length);
    connection.wake = () => this.turnSoon();
    this.dialAfter(0);
  }

  /** Ends the stream, and all plain calls. */
  close(): void {
    clearTimeout(this.timer);
    this.closed.abort();
    this.stream?.close();
    this.before?.close();
    this.connection.setWire({ problem: new ClosedError() });
  }

  /**
   * Callers that were notified by one message make their next changes at the same time, and these are sent in one message. A
   * timer may be late, and an acknowledgement that has arrived is not overdue: so what has arrived comes first.
   */
  private turnSoon(): void {
    if (!this.isTurnDue) {
      this.isTurnDue = true;
      setImmediate(() => {
        this.turn();
        this.isTurnDue = false;
      });
    }
  }

  private turn(): void {
    if (this.closed.signal.aborted) {
      return;
    }
    clearTimeout(this.timer);
    const { protocol } = this.connection;
    const look = this.connection.change((protocol, now) => {
      // First, because a keep-alive that is due must not renew a session without progress.
      const look = this.connection.checkProgress(now);
      protocol.handleTimeout(now);
      return look;
    });
    if (protocol.isLeft) {
      this.startDialling();
    }
    for (let request = protocol.pollTransmit(); request; request = protocol.pollTransmit()) {
      this.stream?.send(request);
    }
    const next = Math.min(protocol.pollTimeout(), look) - now();
    this.timer = setTimeout(() => this.turnSoon(), Math.min(next, LONGEST_SLEEP_MS));
  }

  private startDialling(): void {
    if (this.isDialling) {
      return;
    }
    const isFailing = this.welcomedAt === undefined || now() - this.welcomedAt < SHORT_LIVED_MS;
    if (!isFailing) {
      this.backoff.reset();
    }
    this.dialAfter(isFailing ? this.backoff.nextPause() : 0);
  }

  private dialAfter(pause: number): void {
    const { endpoints, security, connectTimeoutMs } = this.options;
    const { signal } = this.closed;
    const count = endpoints.length;
    // The endpoint of the current stream comes last; while that stream is still open, it is not tried, unless there is no other.
    const others = this.stream && count > 1 ? count - 1 : count;
    const order = Array.from({ length: others }, (_, step) => (this.nextEndpoint + step) % count);
    const patience = this.connection.protocol.shortestValidity / STAGGER_OF_VALIDITY;
    const stagger = Math.max(Math.min(connectTimeoutMs / STAGGER_OF_TIMEOUT, patience), SHORTEST_STAGGER_MS);
    const open = (index: number, decided: AbortSignal) =>
      Wire.open(index, endpoints[index]!, security, connectTimeoutMs, decided);
    this.isDialling = true;
    sleep(Math.min(pause, patience), signal)
      .then(() => dial(order, open, stagger, signal))
      .then(
        (wire) => this.dialled(wire),
        (error: unknown) => this.failed(error as Error),
      );
  }

  private dialled(wire: Wire): void {
    if (this.closed.signal.aborted) {
      wire.close();
      return;
    }
    this.isDialling = false;
    this.nextEndpoint = (wire.index + 1) % this.options.endpoints.length;
    // A stream that no server has confirmed is not what keeps the sessions.
    const last = this.welcomedAt === undefined ? this.before : this.stream;
    [this.stream, this.before].forEach((other) => other !== last && other?.close());
    this.before = last;
    this.stream = wire;
    this.welcomedAt = undefined;
    this.epoch = this.connection.change((protocol, now) => {
      // First, because a Hello renews the sessions that are not paused.
      this.connection.checkProgress(now);
      return protocol.handleConnected(now);
    });
    this.connection.setWire({ up: wire });
    const received = (response: ConnectResponse) => {
      this.before?.close();
      this.before = undefined;
      // The first message is the Welcome.
      this.welcomedAt ??= now();
      this.connection.change((protocol, now) => protocol.handleResponse(this.epoch, response, now));
    };
    wire.listen(received, (error) => this.disconnected(wire, error));
  }

  private disconnected(wire: Wire, error: TenureError): void {
    wire.close();
    this.stream = undefined;
    this.connection.change((protocol) => {
      if (error instanceof RefusedError && error.reason === 'CLIENT_SUPERSEDED') {
        protocol.handleSuperseded(this.epoch, randomUUID());
      }
      protocol.handleDisconnected(this.epoch);
    });
    const problem = error instanceof UnavailableError ? error : new UnavailableError(error.message);
    this.connection.setWire({ problem });
    this.startDialling();
  }

  private failed(error: Error): void {
    if (this.closed.signal.aborted) {
      return;
    }
    this.isDialling = false;
    if (!this.stream) {
      const problem = error instanceof TenureError ? error : new UnavailableError(error.message);
      this.connection.setWire({ problem });
      if (problem instanceof RefusedError) {
        this.connection.change((protocol, now) => protocol.handleRejected(problem.refusal, now));
      }
    }
    this.dialAfter(this.backoff.nextPause());
  }
}
