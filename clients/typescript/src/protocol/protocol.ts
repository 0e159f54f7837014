// The state that a client declares to the service: its sessions, claims and memberships, by number. No I/O and no randomness: the
// transport passes in the time and the received messages, and takes out messages.
//
// Every stream begins with a Hello that states everything, so a lost message, a lost stream and a first connection are one
// code path: what the server has not confirmed is stated again, and what is not stated ends there. A number is declared once,
// and its item remains in the table until the server has reported its end.
//
// Relies on the order of messages within a stream.
import type { Moment } from '../clock.js';
import { type ConnectRequest, type ConnectResponse, Declaration, EndReason, type Refusal, type State } from '../v1.js';
import { type End, Item, type Status } from './item.js';
import { KeepAlives, PATIENCE_MS } from './keep_alive.js';
import { declarations, hellos, isStated, Stream } from './stream.js';

/** Without a reply to a change for this long, a keep-alive shows whether the server is there. */
const PROBE_AFTER_MS = 250;
/**
 * The most bytes of declarations that are sent and not confirmed, but for the last one. A Hello repeats them, within the contract's
 * bound of 1 MiB.
 */
const UNCONFIRMED_BYTES = 900_000;
const FORGOTTEN: End = { kind: 'lost', reason: { reason: 'forgotten' } };
/** The reasons to which a withdrawal leads. */
const BY_CLIENT: readonly EndReason[] = [EndReason.RELEASED, EndReason.TRANSFERRED, EndReason.CLOSED];

/** The table, and the current stream. */
export class Protocol {
  readonly items = new Map<bigint, Item>();
  /** The items whose status or validity has changed, since this was cleared. */
  readonly changed = new Set<Item>();
  private readonly keepAlives = new KeepAlives();
  private epoch = 0;
  private lastNumber = 0n;
  /** What has a higher number is not known to any server. */
  private lastSent = 0n;
  /** The bytes of the declarations that were sent, and that no server has confirmed. */
  private unconfirmed = 0;
  private stream: Stream | undefined;
  /** The token of a hold from before the last loss of history is less than this one. */
  private lostRevision = 0n;
  /** No later than the end of any session's validity. */
  private nextExpiry: Moment = Infinity;

  /** A client without anything. The id is random, and used by this program only. */
  constructor(
    private readonly namespace: string,
    private clientId: string,
  ) {}

  /**
   * Declares a session with what is in it, or what is new in a session. The numbers are set here. Returns the new items, in the order
   * of their numbers.
   */
  declare(given: Partial<Declaration>, session: Item | undefined, now: Moment): Item[] {
    const first = this.lastNumber + 1n;
    const message = Declaration.fromPartial({ ...given, session: session?.number ?? first });
    const added: Item[] = [];
    const add = (part: Partial<Declaration>) => {
      const declared = Declaration.fromPartial({ session: message.session, ...part });
      const item = new Item(this.lastNumber, session ?? added[0], first, declared);
      this.items.set(item.number, item);
      added.push(item);
    };
    if (message.open) {
      this.lastNumber += 1n;
      add({ open: message.open });
    }
    for (const claim of message.claims) {
      claim.number = this.lastNumber += 1n;
      add({ claims: [claim] });
    }
    for (const membership of message.memberships) {
      membership.number = this.lastNumber += 1n;
      add({ memberships: [membership] });
    }
    if (session && (session.withdrawn !== undefined || !this.items.has(session.number))) {
      added.forEach((item) => this.end(item, FORGOTTEN));
    } else {
      this.sendUnsent(now);
    }
    return added;
  }

  /** Declares what no server knows yet, as far as the bound on what is unconfirmed allows. */
  private sendUnsent(now: Moment): void {
    const sending: Item[] = [];
    for (; this.stream && this.lastSent < this.lastNumber; this.lastSent += 1n) {
      const item = this.items.get(this.lastSent + 1n);
      if (item?.declared && item.withdrawn === undefined) {
        if (item.number === item.first && this.unconfirmed >= UNCONFIRMED_BYTES) {
          break;
        }
        item.unconfirmed = Declaration.encode(item.declared).finish().length;
        this.unconfirmed += item.unconfirmed;
        item.validity.renewed = item.session ? item.validity.renewed : now;
        sending.push(item);
      }
    }
    declarations(sending).forEach((value) => this.stream?.change({ $case: 'declare', value }, now));
  }

  /** Withdraws an item, and everything in it. */
  withdraw(item: Item, now: Moment): void {
    if (!this.items.has(item.number) || item.withdrawn !== undefined) {
      return;
    }
    if (item.number > this.lastSent) {
      this.end(item, { kind: 'withdrawn' });
      return;
    }
    for (const withdrawn of [item, ...item.parts].filter((one) => one.withdrawn === undefined)) {
      withdrawn.withdrawn = this.epoch;
      this.report(withdrawn, { kind: 'withdrawn' });
    }
    this.stream?.change({ $case: 'withdraw', value: item.number }, now);
  }

  /** Keep-alives do not renew a session that is paused. */
  setPaused(session: Item, isPaused: boolean, now: Moment): void {
    const { validity } = session;
    if (!validity.isOpen || validity.isPaused === isPaused || !this.items.has(session.number)) {
      return;
    }
    validity[isPaused ? 'pause' : 'resume'](this.keepAlives.lastNumber);
    this.changed.add(session);
    this.stream?.change({ $case: isPaused ? 'pause' : 'resume', value: session.number }, now);
    if (!isPaused) {
      // Its acknowledgement is that of the change, too.
      this.stream?.keepAlive(this.keepAlives.add(now));
      this.keepAlives.plan(this.items.values(), now);
    }
  }

  /** A stream was opened: the current one from now on, on which everything is stated. Returns its epoch. */
  handleConnected(now: Moment): number {
    this.expire(now);
    this.epoch += 1;
    const { namespace, clientId, epoch, items } = this;
    const stated = [...items.values()].filter((item) => item.number <= this.lastSent && isStated(item));
    const parts = hellos({ namespace, clientId, epoch: BigInt(epoch) }, stated);
    const stream = (this.stream = new Stream(epoch, this.keepAlives.addHello(now), now, parts));
    this.keepAlives.plan(items.values(), now);
    // What a Hello cannot state: that what is known was withdrawn. A closed session takes with it what is in it.
    stated
      .filter((item) => item.withdrawn !== undefined && item.session?.withdrawn === undefined)
      .forEach((item) => stream.change({ $case: 'withdraw', value: item.number }, now));
    this.sendUnsent(now);
    return epoch;
  }

  /** The stream of this epoch is gone. No effect if there is a later one. */
  handleDisconnected(epoch: number): void {
    this.stream = this.epoch === epoch ? undefined : this.stream;
  }

  /**
   * The stream of this epoch was ended because the client has connected again. If it has not, another program uses its id:
   * everything is lost, and the client continues under the new id.
   */
  handleSuperseded(epoch: number, newClientId: string): void {
    if (this.epoch === epoch) {
      this.clientId = newClientId;
      this.stream = undefined;
      this.items.forEach((item) => this.end(item, { kind: 'lost', reason: { reason: 'in_use' } }));
    }
  }

  /** The credentials are rejected by every server: what no server has confirmed ends. */
  handleRejected(refusal: Refusal, now: Moment): void {
    const declared = [...this.items.values()].filter((item) => item.declared);
    declared.forEach((item) => this.abandon(item, { kind: 'rejected', refusal }, now));
  }

  /** Processes a message from the stream of this epoch. */
  handleResponse(epoch: number, { kind }: ConnectResponse, now: Moment): void {
    // First, because a session that was valid too long ago stays lost, whatever has arrived.
    this.expire(now);
    const { stream } = this;
    if (stream?.epoch !== epoch) {
      return;
    }
    switch (kind?.$case) {
      case 'welcome':
        this.lostRevision = kind.value.lostRevision;
        this.keepAlives.acknowledge(stream.hello);
        // The Hello has been reconciled: what it did not state has ended.
        [...this.items.values()]
          .filter((item) => !isStated(item) && item.withdrawn! < epoch)
          .forEach((item) => this.end(item, { kind: 'withdrawn' }));
        break;
      case 'keptAlive':
        this.keptAlive(Number(kind.value.number));
        break;
      case 'states':
        stream.asked = Infinity;
        kind.value.states.forEach((state) => this.state(state, stream, now));
        // A reply may have taken longer than the session is valid.
        this.expire(now);
        this.sendUnsent(now);
        break;
      case 'goingAway':
        stream.isLeft = true;
    }
  }

  /** Does what is due at `now`. */
  handleTimeout(now: Moment): void {
    this.expire(now);
    const { stream, keepAlives } = this;
    if (!stream) {
      return;
    }
    if (keepAlives.due <= now) {
      keepAlives.plan(this.items.values(), now);
      if (keepAlives.due < Infinity) {
        stream.keepAlive(keepAlives.add(now));
      }
    }
    if (keepAlives.patienceEnds <= now) {
      stream.isLeft = true;
    }
    if (now - stream.asked >= PATIENCE_MS) {
      stream.asked = Infinity;
      stream.isLeft ||= !this.hasOpenSession;
    } else if (now - stream.asked >= PROBE_AFTER_MS && !stream.isProbed) {
      stream.isProbed = true;
      stream.keepAlive(keepAlives.add(now));
    }
  }

  /** When to call `handleTimeout` next. */
  pollTimeout(): Moment {
    const { stream, keepAlives, nextExpiry } = this;
    if (!stream) {
      return nextExpiry;
    }
    const probe = stream.asked + (stream.isProbed ? PATIENCE_MS : PROBE_AFTER_MS);
    const leaving = stream.isLeft ? Infinity : Math.min(keepAlives.patienceEnds, probe);
    return Math.min(leaving, keepAlives.due, nextExpiry);
  }

  /** The next message to send on the current stream. */
  pollTransmit(): ConnectRequest | undefined {
    return this.stream?.pollTransmit();
  }

  /** Whether to connect to another server, and to use the current stream until then. */
  get isLeft(): boolean {
    return this.stream?.isLeft === true;
  }

  /** The shortest time for which a session is valid, in milliseconds: `Infinity` without any. */
  get shortestValidity(): number {
    return this.keepAlives.shortest;
  }

  private get hasOpenSession(): boolean {
    return [...this.items.values()].some((item) => item.isWantedSession && item.validity.isOpen);
  }

  /** A keep-alive was acknowledged. */
  private keptAlive(number: number): void {
    const sent = this.keepAlives.acknowledge(number);
    for (const item of sent === undefined ? [] : this.items.values()) {
      if (item.isWantedSession && item.validity.keptAlive(number, sent!, this.epoch)) {
        this.changed.add(item);
      }
    }
  }

  /** Processes the state of one number. What is withdrawn has only an end; what is not in the table, nothing. */
  private state({ number, kind }: State, stream: Stream, now: Moment): void {
    const item = this.items.get(number);
    if (!item || !kind) {
      return;
    }
    const isWithdrawn = item.withdrawn !== undefined;
    this.confirm(item);
    item.declared = isWithdrawn ? item.declared : undefined;
    // The database has lost the history in which the claim was granted: others may have held its locks since.
    const isGrantedAnew = kind.$case === 'held' && kind.value.token !== item.token;
    if (item.token !== undefined && (kind.$case === 'waiting' || isGrantedAnew)) {
      // Not released, even if it is withdrawn.
      item.withdrawn = undefined;
      this.abandon(item, FORGOTTEN, now);
    } else if (kind.$case === 'ended') {
      const isUnknown = kind.value.reason === EndReason.UNSPECIFIED;
      this.end(item, isUnknown ? FORGOTTEN : { kind: 'lost', reason: { reason: 'ended', ended: kind.value } });
    } else if (kind.$case === 'busy') {
      this.end(item, { kind: 'busy', busy: kind.value });
    } else if (kind.$case === 'rejected') {
      this.leaveIfRejected(kind.value, stream);
      this.end(item, { kind: 'rejected', refusal: kind.value });
    } else if (isWithdrawn) {
      return;
    } else if (kind.$case === 'open') {
      item.validity.opened(kind.value, stream);
      this.keepAlives.include(item, item.validity.renewed);
      this.nextExpiry = Math.min(this.nextExpiry, item.validity.until);
      this.report(item, { kind: 'open' });
    } else if (kind.$case === 'waiting') {
      this.report(item, { kind: 'waiting', busy: kind.value });
    } else if (kind.$case === 'joined') {
      this.report(item, { kind: 'joined', member: kind.value.member });
    } else {
      const { token, transfer: pending } = kind.value;
      item.token = token;
      this.report(item, { kind: 'held', token, ...(pending && { transfer: { pending, since: now } }) });
    }
  }

  /** Ends the sessions that are lost. */
  private expire(now: Moment): void {
    if (now < this.nextExpiry) {
      return;
    }
    this.nextExpiry = Infinity;
    for (const session of [...this.items.values()].filter((item) => item.isWantedSession)) {
      const reason = session.lostReason(now);
      if (reason) {
        this.abandon(session, { kind: 'lost', reason }, now);
      } else {
        this.nextExpiry = Math.min(this.nextExpiry, session.validity.until);
      }
    }
  }

  /**
   * Another server may do what this one cannot: at once if it is the server's own state that it reports, or if no session
   * depends on this one.
   */
  private leaveIfRejected({ reason }: Refusal, stream: Stream): void {
    const isItsOwn = ['DRAINING', 'LEASE_LOST'].includes(reason);
    const isTemporary = ['STORE_UNAVAILABLE', 'OUTCOME_UNKNOWN'].includes(reason);
    stream.isLeft ||= isItsOwn || (isTemporary && !this.hasOpenSession);
  }

  /** Ends what this client must not use any more. The server may still have it: others need not wait for its end. */
  private abandon(item: Item, end: End, now: Moment): void {
    this.end(item, end);
    this.stream?.change({ $case: 'withdraw', value: item.number }, now);
  }

  /** Its declaration need not be repeated any more. */
  private confirm(item: Item): void {
    this.unconfirmed -= item.unconfirmed;
    item.unconfirmed = 0;
  }

  /** Ends an item, and then everything in it: a claim that ended with its session was not lost alone. */
  private end(item: Item, end: End): void {
    if (!this.items.delete(item.number)) {
      return;
    }
    this.confirm(item);
    item.session?.parts.delete(item);
    const isConfirmed = item.withdrawn !== undefined && this.isByClient(item, end);
    this.report(item, { kind: 'ended', end: isConfirmed ? { kind: 'withdrawn' } : end });
    item.parts.forEach((part) => this.end(part, end));
  }

  /** Whether a withdrawal leads to such an end. */
  private isByClient({ token = this.lostRevision }: Item, end: End): boolean {
    if (end.kind === 'lost' && end.reason.reason === 'ended') {
      return BY_CLIENT.includes(end.reason.ended.reason);
    }
    // Without a record of it, it may have ended with the history.
    return end === FORGOTTEN && token >= this.lostRevision;
  }

  private report(item: Item, status: Status): void {
    item.status = status;
    this.changed.add(item);
  }
}
