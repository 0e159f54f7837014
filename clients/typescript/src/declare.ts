// Opens sessions, makes claims and memberships, and waits for what becomes of them.
import { type Moment, now } from './clock.js';
import type { Connection } from './connection/connection.js';
import { ClosedError, RefusedError, throwIfLost, wordOf } from './error.js';
import type { Cancellable } from './options/client.js';
import { type SessionOptions, sessionToDeclare } from './options/session.js';
import { Progress } from './progress.js';
import type { Item } from './protocol/item.js';
import { Session } from './session.js';
import { type BusyState, type Declaration, type EndedState, EndReason, Refusal } from './v1.js';
import { Backoff, sleep } from './waiting.js';

/** Where claims and memberships are made: in this session, or each in a session of its own with these options. */
export interface Target {
  readonly connection: Connection;
  readonly session?: Session;
  readonly options?: SessionOptions;
}

/** How long to wait for it, and the progress that the renewal of its session depends on, if that is limited. */
export interface Wanted extends Cancellable {
  stallAfterMs?: number | undefined;
  /** Undefined: for as long as it takes. */
  waitMs?: number | undefined;
}

/** A claim or a membership, in a session that may be there for it alone. */
export interface Part {
  readonly session: Session;
  readonly item: Item;
}

/** What came of a request: the part, with its token or its member's number; or the locks are not free. */
export type Obtained = { part: Part; number: bigint } | { part?: undefined; busy: BusyState };

/** Opens a session. */
export async function openSession({ connection, options }: Target, signal?: AbortSignal): Promise<Session> {
  const reply = now() + connection.callTimeoutMs;
  return withRetries(reply, signal, async () => {
    const { session } = declareSession(connection, options, {});
    await settle(session, session.item, reply, reply, signal);
    return session;
  });
}

/** Makes a claim or a membership, and waits for it. */
export async function obtain(target: Target, declaration: Partial<Declaration>, wanted: Wanted): Promise<Obtained> {
  const { waitMs = Infinity, signal } = wanted;
  const { connection, session } = target;
  const until = now() + waitMs;
  // In a session that exists, a wait without an end may also wait for a server.
  const isLimited = waitMs < Infinity || !session;
  const reply = isLimited ? (waitMs < Infinity ? until : now()) + connection.callTimeoutMs : Infinity;
  return withRetries(reply, signal, async () => {
    const part = declarePart(target, declaration, wanted);
    const settled = await settle(part.session, part.item, until, reply, signal);
    if (typeof settled === 'bigint') {
      return { part, number: settled };
    }
    connection.withdraw(part.item);
    // Not needed for the outcome: but when the caller reads the queue, it has left.
    await connection.end(part.item).catch(() => undefined);
    return { busy: settled };
  });
}

function declarePart(target: Target, declaration: Partial<Declaration>, { stallAfterMs }: Wanted): Part {
  const { connection, session, options } = target;
  throwIfLost(session?.lostReason);
  const part = session
    ? { session, item: connection.change((protocol, now) => protocol.declare(declaration, session.item, now))[0]! }
    : declareSession(connection, options, declaration);
  if (stallAfterMs !== undefined) {
    connection.progress.set(part.item, new Progress(stallAfterMs));
  }
  return part;
}

/** Declares a session with a part, if there is one: the session ends with it. */
function declareSession(connection: Connection, options: SessionOptions = {}, declaration: Partial<Declaration>): Part {
  const open = sessionToDeclare(options);
  if (connection.isClosing) {
    throw new ClosedError();
  }
  const declared = { ...declaration, open };
  const [ofSession, part] = connection.change((protocol, now) => protocol.declare(declared, undefined, now));
  const session = new Session(connection, ofSession!, open);
  if (options.stallAfterMs !== undefined) {
    connection.progress.set(session.item, new Progress(options.stallAfterMs));
  }
  part?.signal.addEventListener('abort', () => session.drop(), { once: true });
  return { session, item: part ?? session.item };
}

/**
 * Waits until it is open or granted, or the locks are not free: if it is in the queue, until `until` at most; if nothing is known
 * of it, until `reply`. Returns the token or the member's number (0 for a session), or why the locks are not free. On an error it is
 * withdrawn, whatever reply is under way.
 */
async function settle(
  session: Session,
  item: Item,
  until: Moment,
  reply: Moment,
  signal: AbortSignal | undefined,
): Promise<bigint | BusyState> {
  const { connection } = session;
  try {
    for (;;) {
      const settled = outcome(session, item);
      // A session of its own that is open shows whether there is a server.
      const deadline = item.status.kind === 'waiting' ? until : reply;
      if (settled !== undefined) {
        return settled;
      } else if (now() < deadline) {
        await item.changed(deadline, signal);
      } else if (item.status.kind === 'waiting') {
        return item.status.busy;
      } else {
        throw connection.unanswered;
      }
    }
  } catch (error) {
    connection.withdraw(item);
    throw error;
  }
}

/** What has come of it so far. Throws if it has ended for another reason than that the locks are not free. */
function outcome(session: Session, item: Item): bigint | BusyState | undefined {
  const { status } = item;
  const end = status.kind === 'ended' ? status.end : undefined;
  if (end?.kind === 'busy') {
    return end.busy;
  } else if (end?.kind === 'rejected') {
    throw new RefusedError(end.refusal);
  } else if (end?.kind === 'lost' && end.reason.reason === 'ended' && session.isValid) {
    throw claimEnded(session.id, end.reason.ended);
  }
  throwIfLost(item.lostReason());
  if (status.kind === 'open') {
    return 0n;
  } else if (!item.validity.isOpen) {
    return undefined;
  }
  return status.kind === 'held' ? status.token : status.kind === 'joined' ? status.member : undefined;
}

/** Repeats an attempt after temporary rejections, until then. */
async function withRetries<T>(until: Moment, signal: AbortSignal | undefined, attempt: () => Promise<T>): Promise<T> {
  const backoff = Backoff.ofCalls();
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      const pause = backoff.nextPause();
      if (!(error instanceof RefusedError) || !(error.isTransient || isLate(error)) || now() + pause >= until) {
        throw error;
      }
      await sleep(pause, signal);
    }
  }
}

/** Whether a claim ended because the client reconnected too late: the caller still waits for the locks. */
function isLate({ reason, metadata }: RefusedError): boolean {
  return reason === 'CLAIM_ENDED' && metadata['end_reason'] === wordOf(EndReason.DISCONNECTED);
}

/** The error of a claim that ended while it waited. */
function claimEnded(sessionId: string, { reason }: EndedState): RefusedError {
  const word = wordOf(reason);
  const metadata = { session_id: sessionId, end_reason: word };
  const message = `the claim ended while it waited: ${word}`;
  return new RefusedError(Refusal.fromPartial({ reason: 'CLAIM_ENDED', message, metadata }));
}
