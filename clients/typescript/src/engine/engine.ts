// The state of a client: which sessions, claims and watches there are, and what has to be said to a server about them. No I/O
// and no clock; the connection passes in the time, what has been received and what has been asked, and takes out what is to
// be sent.
//
// Recovery is the ordinary path: all commands are such that sending them again is harmless, so whatever is not answered yet
// is sent anew on each new stream.
import type { Moment } from '../clock.js';
import { endReasonOf } from '../convert.js';
import type { TenureError } from '../errors.js';
import { ClosedError, RefusedError, UnavailableError } from '../errors.js';
import type { Command, StreamResponse } from '../generated/tenure/v1/stream.js';
import { Closing } from './closing.js';
import type { OpenOptions } from './opening.js';
import { Opening } from './opening.js';
import type { LiveSession } from './session.js';
import { sendKeepAlive } from './keep_alive.js';
import type { AnswerKind, CommandKind, Handlers } from './stream.js';
import { CommandStream } from './stream.js';
import { Timers } from './timers.js';
import type { WatchOptions } from './watched.js';
import { Watched } from './watched.js';

/** The namespace of commands that name none: the contract's. */
const DEFAULT_NAMESPACE = 'default';

/** What the stream is good for: connect elsewhere and stay meanwhile, or drop it now. */
export type Verdict = 'leave' | 'broken';

/** Why there is no stream: no server can be reached, or one does not know who this is. */
export type Trouble = UnavailableError | RefusedError;

/** Where the answer to a request goes. */
export interface Reply<T> {
  resolve(value: T): void;
  reject(error: TenureError): void;
}

export class Engine {
  readonly timers = new Timers();
  readonly openings = new Map<string, Opening>();
  readonly sessions = new Map<string, LiveSession>();
  readonly closings = new Map<string, Closing>();
  readonly watches = new Set<Watched>();
  /** As commands name it: empty for the default one. */
  readonly namespace: string;
  private stream: CommandStream | undefined;
  /** The last command of the streams before this one: their numbers are not used again. */
  private lastCommand = 0;
  private verdict: Verdict | undefined;
  private shuttingDown: { giveUp: Moment; reply: Reply<void> } | undefined;

  constructor(
    namespace: string,
    /** Random: tells the client's sessions apart from those of other programs that use the same ids. */
    readonly clientId: string,
    /** Why there is no stream. */
    private problem = 'not connected yet',
  ) {
    this.namespace = namespace === DEFAULT_NAMESPACE ? '' : namespace;
  }

  open(options: OpenOptions, giveUp: Moment, reply: Reply<LiveSession>, now: Moment): Opening | undefined {
    if (this.shuttingDown !== undefined) {
      reply.reject(new ClosedError());
      return undefined;
    }
    return Opening.begin(this, options, giveUp, reply, now);
  }

  watch(options: WatchOptions, now: Moment): Watched {
    const watched = new Watched(this, options);
    if (this.shuttingDown === undefined) {
      this.watches.add(watched);
      watched.send(now);
    } else {
      watched.end();
    }
    return watched;
  }

  /** Closes all sessions and ends all watches. */
  shutDown(giveUp: Moment, reply: Reply<void>, now: Moment): void {
    this.shuttingDown = { giveUp, reply };
    this.timers.set(giveUp, () => this.giveUpShuttingDown());
    for (const watched of [...this.watches]) {
      watched.end();
    }
    for (const opening of [...this.openings.values()]) {
      opening.abandon(new ClosedError(), now);
    }
    for (const session of [...this.sessions.values()]) {
      session.close(now);
    }
  }

  /** Whether it was asked to shut down and has. */
  takeShutDown(): boolean {
    if (this.shuttingDown === undefined || this.closings.size > 0 || this.sessions.size > 0) {
      return false;
    }
    this.shuttingDown.reply.resolve();
    this.shuttingDown = undefined;
    return true;
  }

  private giveUpShuttingDown(): void {
    this.shuttingDown?.reply.reject(new UnavailableError(this.problem));
    this.closings.clear();
    this.sessions.clear();
  }

  /** A stream was opened: all that is not settled is said on it anew. */
  connected(now: Moment): void {
    this.detachAll();
    this.stream = new CommandStream(this.lastCommand);
    this.verdict = undefined;
    for (const each of [...this.sessions.values()]) {
      each.sendAttach(now);
    }
    for (const each of [...this.openings.values(), ...this.closings.values(), ...this.watches]) {
      each.send(now);
    }
  }

  /** The stream is gone. */
  disconnected(problem: string): void {
    this.detachAll();
    this.problem = problem;
  }

  /**
   * No stream could be opened. Sessions that are open go on as long as they are good; nobody waits for one to be opened where
   * the credentials are refused.
   */
  trouble(trouble: Trouble, now: Moment): void {
    if (trouble instanceof UnavailableError) {
      this.problem = trouble.problem;
      return;
    }
    this.problem = trouble.message;
    for (const opening of [...this.openings.values()]) {
      opening.abandon(trouble, now);
    }
  }

  private detachAll(): void {
    this.lastCommand = this.stream?.lastCommand ?? this.lastCommand;
    this.stream = undefined;
    for (const each of [...this.sessions.values(), ...this.openings.values()]) {
      each.detach();
    }
    for (const each of [...this.closings.values(), ...this.watches]) {
      each.detach();
    }
  }

  /** What became of the stream since this was asked last. */
  takeVerdict(): Verdict | undefined {
    const verdict = this.verdict;
    this.verdict = undefined;
    return verdict;
  }

  /** Whether every session has come over to the stream. */
  get isSettled(): boolean {
    return this.stream !== undefined && [...this.sessions.values()].every((session) => session.isAttached);
  }

  /** The shortest time for which a renewal of a session is good: infinite without sessions. */
  get shortestWindow(): number {
    return Math.min(Infinity, ...[...this.sessions.values()].map((session) => session.presence.window));
  }

  /** What is to be sent next: at most so many commands. */
  takeOutgoing(most: number): Command[] {
    return this.stream?.outgoing.splice(0, most) ?? [];
  }

  /** When to call `due` next. */
  get nextDeadline(): Moment | undefined {
    return this.timers.next;
  }

  /** Does what is due. */
  due(now: Moment): void {
    this.timers.due(now);
  }

  /** Takes in what was received on the stream that was opened last. */
  received(response: StreamResponse, now: Moment): void {
    for (const { id, kind } of response.answers) {
      if (kind === undefined) {
        continue;
      }
      if (id === 0n) {
        this.noticed(kind, now);
      } else if (this.stream?.answered(Number(id), kind, now) === false) {
        this.judge('broken');
      }
    }
  }

  private noticed(kind: AnswerKind, now: Moment): void {
    switch (kind.$case) {
      case 'sessionEnded': {
        const lost = { reason: 'ended', endReason: endReasonOf(kind.value.reason) } as const;
        const session = this.sessions.get(kind.value.sessionId);
        if (session === undefined) {
          this.closings.get(kind.value.sessionId)?.closed(now);
        } else {
          session.lose(lost, now);
        }
        return;
      }
      case 'holdEnded':
        this.sessions.get(kind.value.sessionId)?.holdEnded(kind.value, now);
        return;
      case 'transferRequested':
        this.sessions.get(kind.value.sessionId)?.transferRequested(kind.value, now);
        return;
      case 'sessionMoved':
        this.sessions.get(kind.value.sessionId)?.moved(now);
        return;
      case 'goingAway':
        this.judge('leave');
        return;
      default:
      // A notice that this version does not know.
    }
  }

  /** Sends a command if there is a stream. Answers its number. */
  send(kind: CommandKind, handlers: Handlers, now: Moment): number | undefined {
    return this.stream?.send(kind, handlers, now);
  }

  /** Ends a command that goes on. */
  cancel(command: number): void {
    this.stream?.cancel(command);
  }

  /** Ends a watch on the stream. What it still tells is not listened to. */
  stopWatch(command: number): void {
    this.stream?.forget(command);
    this.cancel(command);
  }

  isUnanswered(command: number): boolean {
    return this.stream?.isUnanswered(command) ?? false;
  }

  /** The stream counts as broken if the command is not answered by then. */
  expectAnswer(command: number, by: Moment): void {
    this.timers.set(by, () => {
      if (this.isUnanswered(command)) {
        this.judge('broken');
      }
    });
  }

  /** A broken stream stays broken. */
  judge(verdict: Verdict): void {
    if (this.verdict !== 'broken') {
      this.verdict = verdict;
    }
  }

  /** Another server may do what this one cannot; but not at the cost of a session that this one serves. */
  leaveIfIdle(): void {
    if (![...this.sessions.values()].some((session) => session.isAttached)) {
      this.judge('leave');
    }
  }

  /** Whether a refusal is for now only. If it is this server's alone, another one is looked for. */
  isForNow(refusal: RefusedError): boolean {
    if (refusal.reason === 'LEASE_LOST' || refusal.reason === 'DRAINING') {
      this.judge('leave');
    }
    return refusal.isTransient;
  }

  /** What to tell who has waited in vain. */
  inVain(refusal: RefusedError | undefined): TenureError {
    const problem = this.stream === undefined ? this.problem : 'the server did not answer';
    return refusal ?? new UnavailableError(problem);
  }

  /** Renews all sessions that are due, or nearly. */
  renewDue(now: Moment): void {
    const due = [...this.sessions.values()].filter((session) => session.isDue(now, 1) && !session.isHeldBack(now));
    sendKeepAlive(this, due, now);
  }

  /** Ends an id: a closing, if there is one, before a session of the same id is opened again. */
  freed(id: string, now: Moment): void {
    this.openings.get(id)?.send(now);
  }

  closeLater(id: string, until: Moment, reply: { reply: Reply<void>; giveUp: Moment } | undefined, now: Moment): void {
    let closing = this.closings.get(id);
    if (closing === undefined) {
      closing = new Closing(this, id);
      this.closings.set(id, closing);
    }
    closing.extend(until, reply, now);
  }
}
