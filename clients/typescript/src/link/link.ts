// The connection to the service: owns the stream, carries between it and the engine, and goes to the next server when it
// fails.
import { randomUUID } from 'node:crypto';
import type { Moment } from '../clock.js';
import { now } from '../clock.js';
import type { AcquireSpec, ClaimEntry, Outcome } from '../engine/claim.js';
import type { Reply, Trouble } from '../engine/engine.js';
import { Engine } from '../engine/engine.js';
import type { OpenOptions } from '../engine/opening.js';
import type { LiveSession } from '../engine/session.js';
import type { Watched, WatchOptions } from '../engine/watched.js';
import { ClosedError, RefusedError, UnavailableError } from '../errors.js';
import { abortable, Latest } from '../latest.js';
import type { CheckedOptions } from '../options.js';
import type { StreamResponse } from '../generated/tenure/v1/stream.js';
import { connectBackoff } from './backoff.js';
import type { Connection, NumberedEndpoint } from './connection.js';
import { dial } from './dial.js';

/** A connection that lasted shorter than this is not followed by another without a pause. */
const SHORT_LIVED_MS = 500;
/** How long a stream that is left is kept while the sessions come over to the new one. */
const OVERLAP_MS = 5000;
/** The most commands in one message: the contract's bound. */
const COMMANDS_PER_MESSAGE = 1000;
/** The timers of the runtime stop in suspend: after so long the clock is looked at whatever they say. */
const LONGEST_NAP_MS = 1000;
/** The next endpoint is tried after this part of the shortest time for which a renewal is good, at the latest. */
const STAGGER_DIVISOR = 12;

/** The connection as it is now: up, down for a reason, or closed for good. */
export type Line = { up: Connection } | { up?: undefined; trouble: Trouble } | { up?: undefined; closed: true };

export class Link {
  readonly line = new Latest<Line>({ trouble: new UnavailableError('not connected yet') });
  private readonly engine: Engine;
  private readonly endpoints: readonly NumberedEndpoint[];
  private readonly backoff = connectBackoff();
  private readonly closing = new AbortController();
  private connection: Connection | undefined;
  private connectedAt: Moment | undefined;
  /** The stream that was left, until the sessions have come over or this moment has passed. */
  private parked: { connection: Connection; until: Moment } | undefined;
  private isDialling = false;
  private nextEndpoint: number;
  private nap: NodeJS.Timeout | undefined;
  private dialPause: NodeJS.Timeout | undefined;
  private isTurnDue = false;

  constructor(private readonly options: CheckedOptions) {
    this.engine = new Engine(options.namespace, randomUUID());
    this.endpoints = options.endpoints.map((endpoint, number) => ({ ...endpoint, number }));
    this.nextEndpoint = Math.floor(Math.random() * this.endpoints.length);
    this.startDialling();
  }

  get namespace(): string {
    return this.options.namespace;
  }

  get callTimeoutMs(): number {
    return this.options.callTimeoutMs;
  }

  get isClosed(): boolean {
    return this.closing.signal.aborted;
  }

  openSession(options: OpenOptions, signal?: AbortSignal): Promise<LiveSession> {
    return this.ask(signal, (reply) => {
      const opening = this.engine.open(options, this.giveUp(), reply, now());
      return () => opening?.abandon(new ClosedError(), now());
    });
  }

  closeSession(session: LiveSession): Promise<void> {
    return this.tell((reply) => session.close(now(), { reply, giveUp: this.giveUp() }));
  }

  /** Closes it in the background. */
  dropSession(session: LiveSession): void {
    if (!session.isOver) {
      session.close(now());
      this.turnSoon();
    }
  }

  /** Asks for locks, and answers what came of it with the claim that it came of. A wait that is undefined has no end. */
  acquire(
    session: LiveSession,
    spec: AcquireSpec,
    waitMs: number | undefined,
    signal?: AbortSignal,
  ): Promise<{ claim: ClaimEntry; outcome: Outcome }> {
    return this.ask(signal, (reply) => {
      const answer: Reply<Outcome> = {
        // The claim is known only when `acquire` has returned.
        resolve: (outcome) => queueMicrotask(() => reply.resolve({ claim, outcome })),
        reject: (error) => reply.reject(error),
      };
      const claim = session.acquire(spec, waitMs, this.callTimeoutMs, answer, now());
      return () => claim.drop(now());
    });
  }

  release(claim: ClaimEntry): Promise<void> {
    return this.tell((reply) => claim.release(reply, this.giveUp(), now()));
  }

  /** Gives it back in the background. */
  dropClaim(claim: ClaimEntry): void {
    claim.drop(now());
    this.turnSoon();
  }

  watch(options: WatchOptions): Watched {
    const watched = this.engine.watch(options, now());
    this.turnSoon();
    return watched;
  }

  /** Says what a watch's reader has caused to be said. */
  turnSoon(): void {
    if (!this.isTurnDue && !this.isClosed) {
      this.isTurnDue = true;
      // Those who were answered by the same message ask for the next thing at the same time, and it goes out in one message.
      setImmediate(() => {
        this.isTurnDue = false;
        this.turn();
      });
    }
  }

  /** Closes all sessions and ends all watches; nothing can be asked afterwards. */
  async shutDown(): Promise<void> {
    if (this.isClosed) {
      return;
    }
    await this.tell((reply) => this.engine.shutDown(this.giveUp(), reply, now()));
  }

  private giveUp(): Moment {
    return now() + this.callTimeoutMs;
  }

  /** Asks the engine. What `start` answers is done if the signal fires before there is an answer. */
  private ask<T>(signal: AbortSignal | undefined, start: (reply: Reply<T>) => () => void): Promise<T> {
    if (this.isClosed) {
      return Promise.reject(new ClosedError());
    }
    return abortable(signal, (resolve, reject) => {
      const stop = start({ resolve, reject });
      this.turnSoon();
      return () => {
        stop();
        this.turnSoon();
      };
    });
  }

  /** Asks the engine for what is not given up. */
  private tell(start: (reply: Reply<void>) => void): Promise<void> {
    return this.ask(undefined, (reply: Reply<void>) => {
      start(reply);
      return () => undefined;
    });
  }

  /** Does what is due, sends what is to be sent, and looks when to do so next. */
  private turn(): void {
    if (this.isClosed) {
      return;
    }
    const time = now();
    this.engine.due(time);
    this.followVerdict();
    if (this.parked !== undefined && (this.parked.until <= time || this.engine.isSettled)) {
      this.parked.connection.close();
      this.parked = undefined;
    }
    this.flush();
    if (this.engine.takeShutDown()) {
      this.end();
      return;
    }
    const deadline = Math.min(this.engine.nextDeadline ?? Infinity, this.parked?.until ?? Infinity);
    clearTimeout(this.nap);
    // First what has come already is received, because an answer that is here is not overdue: so not right from the timer.
    const wake = () => this.turnSoon();
    this.nap = setTimeout(wake, Math.min(Math.max(Math.ceil(deadline - time), 1), LONGEST_NAP_MS));
  }

  private flush(): void {
    while (this.connection?.hasRoom === true) {
      const commands = this.engine.takeOutgoing(COMMANDS_PER_MESSAGE);
      if (commands.length === 0) {
        return;
      }
      this.connection.send(commands);
    }
  }

  private followVerdict(): void {
    const verdict = this.engine.takeVerdict();
    if (verdict === 'broken') {
      this.hangUp('the server did not answer');
    } else if (verdict === 'leave') {
      this.startDialling();
    }
  }

  private received(response: StreamResponse): void {
    this.engine.received(response, now());
    this.turnSoon();
  }

  private hangUp(problem: string): void {
    this.connection?.close();
    this.connection = undefined;
    this.line.set({ trouble: new UnavailableError(problem) });
    this.engine.disconnected(problem);
    this.startDialling();
    this.turnSoon();
  }

  private startDialling(): void {
    if (this.isDialling || this.isClosed) {
      return;
    }
    this.isDialling = true;
    if (this.connectedAt === undefined || now() - this.connectedAt >= SHORT_LIVED_MS) {
      this.backoff.reset();
      void this.dial();
    } else {
      this.dialLater();
    }
  }

  private dialLater(): void {
    const pause = Math.min(this.backoff.nextPause(), this.stagger);
    this.dialPause = setTimeout(() => void this.dial(), pause);
  }

  private get stagger(): number {
    return this.engine.shortestWindow / STAGGER_DIVISOR;
  }

  private async dial(): Promise<void> {
    try {
      const pace = { limit: this.options.connectTimeoutMs, stagger: this.stagger };
      this.connected(await dial(this.order(), this.options.security, pace, this.closing.signal));
    } catch (error) {
      if (this.isClosed) {
        return;
      }
      if (this.connection === undefined) {
        const isExpected = error instanceof UnavailableError || error instanceof RefusedError;
        const trouble = isExpected ? error : new UnavailableError(String(error));
        this.line.set({ trouble });
        this.engine.trouble(trouble, now());
        this.turnSoon();
      }
      this.dialLater();
    }
  }

  /** The endpoints in the order in which to try them. */
  private order(): NumberedEndpoint[] {
    const { nextEndpoint, endpoints } = this;
    const order = [...endpoints.slice(nextEndpoint), ...endpoints.slice(0, nextEndpoint)];
    // The one that the stream is connected to comes last; while that is only to be left, others do or nobody does.
    return this.connection !== undefined && order.length > 1 ? order.slice(0, -1) : order;
  }

  private connected(connection: Connection): void {
    this.isDialling = false;
    if (this.isClosed) {
      connection.close();
      return;
    }
    if (this.connection !== undefined) {
      this.parked?.connection.close();
      this.connection.park();
      this.parked = { connection: this.connection, until: now() + OVERLAP_MS };
    }
    this.nextEndpoint = (connection.endpoint.number + 1) % this.endpoints.length;
    this.connectedAt = now();
    this.connection = connection;
    this.line.set({ up: connection });
    this.engine.connected(now());
    connection.listen({
      received: (response) => this.received(response),
      drained: () => this.turnSoon(),
      ended: (problem) => this.hangUp(problem),
    });
    this.turn();
  }

  private end(): void {
    this.closing.abort();
    clearTimeout(this.nap);
    clearTimeout(this.dialPause);
    this.connection?.close();
    this.parked?.connection.close();
    this.line.set({ closed: true });
  }
}
