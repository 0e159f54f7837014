// One stream: what is said on it, and what the answers will be about.
import type { Moment } from '../clock.js';
import type { Answer, Command } from '../generated/tenure/v1/stream.js';

export type CommandKind = NonNullable<Command['kind']>;
export type AnswerKind = NonNullable<Answer['kind']>;
type AnswerCase = AnswerKind['$case'];

/** What to do with an answer, by what is answered. Anything else does not fit the question. */
export type Handlers = {
  [C in AnswerCase]?: (value: Extract<AnswerKind, { $case: C }>['value'], sent: Moment, now: Moment) => void;
};

interface Sent {
  at: Moment;
  goesOn: boolean;
  handlers: Handlers;
}

/** A command of that number, which is part of no trace. */
function numbered(id: number, kind: CommandKind): Command {
  return { id: BigInt(id), kind, traceparent: '' };
}

/** The commands of one stream. */
export class CommandStream {
  outgoing: Command[] = [];
  private readonly sent = new Map<number, Sent>();

  /** Whose commands are numbered from there on. */
  constructor(public lastCommand: number) {}

  /** Sends a command. Answers its number. */
  send(kind: CommandKind, handlers: Handlers, now: Moment): number {
    this.lastCommand += 1;
    this.sent.set(this.lastCommand, { at: now, goesOn: kind.$case === 'watch', handlers });
    const command = numbered(this.lastCommand, kind);
    // Renewals do not wait behind other commands.
    if (kind.$case === 'keepAlive') {
      this.outgoing.unshift(command);
    } else {
      this.outgoing.push(command);
    }
    return this.lastCommand;
  }

  /** Ends a command that goes on. */
  cancel(command: number): void {
    this.lastCommand += 1;
    const kind: CommandKind = { $case: 'cancel', value: { commandId: BigInt(command) } };
    this.outgoing.push(numbered(this.lastCommand, kind));
  }

  /** What a command is still answered is not listened to any more. */
  forget(command: number): void {
    this.sent.delete(command);
  }

  isUnanswered(command: number): boolean {
    return this.sent.has(command);
  }

  /** Takes in an answer. Answers whether it fits the question; to what was forgotten anything does. */
  answered(id: number, kind: AnswerKind, now: Moment): boolean {
    const sent = this.sent.get(id);
    if (sent === undefined) {
      return true;
    }
    if (!sent.goesOn || kind.$case === 'refusal') {
      this.sent.delete(id);
    }
    const handler = sent.handlers[kind.$case] as ((value: unknown, sent: Moment, now: Moment) => void) | undefined;
    handler?.(kind.value, sent.at, now);
    return handler !== undefined;
  }
}
