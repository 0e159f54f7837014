// The nouns that answers are made of. Tokens and revisions are 64 bits wide, and so `bigint`; durations are milliseconds.

/** Free labels. At most 4096 bytes in all, keys and values together. */
export type Metadata = Readonly<Record<string, string>>;

/** Why a claim or a session ended. */
export type EndReason = 'released' | 'expired' | 'disconnected' | 'closed' | 'evicted' | 'transferred' | 'unknown';

/** With whom a claim can share its locks: with nobody, with other shared ones, or by permits out of a limit. */
export type Mode = 'exclusive' | 'shared' | 'permits' | 'unknown';

/** Where a claim stands. `lingering`: released before its minimum hold was over, and not yet granted to others. */
export type ClaimState = 'waiting' | 'held' | 'lingering' | 'unknown';

/** One session's stake in one or more locks at once. */
export interface Claim {
  /** The revision of the event that created it. Waiters are served by priority, then by this. */
  id: bigint;
  /** The locks that are claimed, in byte order. */
  names: string[];
  state: ClaimState;
  /** The fencing token, once it was granted. */
  token?: bigint;
  sessionId: string;
  /** The session's owner label. */
  owner: string;
  metadata: Metadata;
  /** Higher goes first among waiters. */
  priority: number;
  /** For this long after the grant nobody is granted these locks again. */
  minHoldMs: number;
  mode: Mode;
  /** How many permits of each lock. Only with the mode `permits`. */
  permits?: number;
  /** The lock's limit when the claim was made. Only with the mode `permits`. */
  limit?: number;
  /** The handoff that its holder has been asked for and has not confirmed yet. */
  transfer?: PendingTransfer;
  /** The sessions that wait for each other in a circle, this one first. Empty: none. */
  deadlock: string[];
}

/** A handoff that a holder has not confirmed yet. */
export interface PendingTransfer {
  /** The session that is to hold next. Unset: whoever is first in the queue then. */
  to?: string;
  /** For how long the holder was given to go on. */
  drainMs: number;
}

/** A claim that waits. */
export interface BlockedClaim {
  claim: Claim;
  /** Those that it waits for. At most the first 100. */
  blockedBy: Claim[];
  /** Whether it waits for more claims than the server lists. */
  truncated: boolean;
}

/** A name that sessions hold or wait for. */
export interface Lock {
  name: string;
  /** Who holds it or lingers on it. At most the first 100. */
  holders: Claim[];
  /** Who waits, in the order in which they will be served. At most the first 100. */
  waiters: Claim[];
  holderCount: bigint;
  waiterCount: bigint;
  /** How many permits may be out at once. Unset: nobody has said. */
  limit?: number;
  settings: LockSettings;
}

/** The first who holds a lock, if anybody does. */
export function holderOf(lock: Lock): Claim | undefined {
  return lock.holders.find((claim) => claim.state === 'held');
}

/** What an operator sets on a lock. */
export interface LockSettings {
  /** How many permits may be out at once: 1 to 1,000,000. Unset: what the first of the claims that are there says. */
  limit?: number;
  /** Whether and how a waiter of higher priority than the holder is handed the lock. Unset: it waits for its turn. */
  preempt?: Preempt;
}

/** How a better candidate is handed a lock. */
export interface Preempt {
  /** For how long it must have waited: 0 to 24 h. Default: 10 s. */
  settlingMs?: number;
  /** For how long the holder may go on, to stop its work: 100 ms to 1 h. Default: 10 s. */
  drainMs?: number;
}

/** An open session, as the server sees it. */
export interface SessionInfo {
  id: string;
  /** The revision of the event that opened it. */
  openedRevision: bigint;
  ttlMs: number;
  disconnectGraceMs?: number;
  owner: string;
  metadata: Metadata;
  /** The server that takes its renewals, as a number that is drawn at each start of a server. */
  home: bigint;
  /** What it holds and waits for. */
  claims: Claim[];
  /** How long it lives on, at least. Known to its home only. */
  remainingMs?: number;
}

/** What can happen to a lock. */
export type EventKind =
  | 'queued'
  | 'granted'
  | 'lingering'
  | 'ended'
  | 'transfer_started'
  | 'transfer_cancelled'
  | 'transferred'
  | 'updated'
  | 'configured'
  | 'unknown';

/** Something that happened to one lock. */
export interface LockEvent {
  /** The namespace's revision that this event made. */
  revision: bigint;
  name: string;
  kind: EventKind;
  /** Whose claim it happened to. Not told of `configured`. */
  claim?: Claim;
  /** Why the claim (of `transferred`: the previous one) ended. */
  endReason?: EndReason;
  operator?: string;
  note?: string;
  /** Whether nobody holds the lock any more. */
  vacant: boolean;
  /** The wall clock of the server that wrote it, for people. */
  time?: Date;
  /** The hold that ended. Only told of `transferred`. */
  previous?: Claim;
  /** What is set from now on. Only told of `configured`. */
  settings?: LockSettings;
}

/** A named set of members with a leader, one shared config value and an assignment for each member. */
export interface Group {
  name: string;
  /** Who leads: the member that has been there longest. Unset without members. */
  leader?: GroupLeader;
  /** In order of joining. */
  members: GroupMember[];
  /** The revision of the last event by which a member came or went. */
  membershipRevision: bigint;
  /** The shared value, if there is one. */
  config?: string;
  /** The revision of the event that set the config. 0 without one. */
  configRevision: bigint;
  /** Whether the assignments are those for these members and this config. */
  assignmentsCurrent: boolean;
  /** The revision of the event of the last assignments. 0 if there were none. */
  assignmentsRevision: bigint;
}

/** Who leads a group. */
export interface GroupLeader {
  /** The leader's number. */
  member: bigint;
  /** The leader's token, greater than that of every leader before. */
  token: bigint;
  sessionId: string;
  owner: string;
}

/** One session's membership. */
export interface GroupMember {
  /** Rises in order of joining. */
  number: bigint;
  sessionId: string;
  owner: string;
  metadata: Metadata;
  /** What the leader assigned to it last. Unset: nothing since it joined. */
  assignment?: string;
}

/** What can happen to a group. */
export type GroupEventKind = 'joined' | 'left' | 'configured' | 'assigned' | 'unknown';

/** Something that happened to one group. */
export interface GroupEvent {
  /** The namespace's revision that this event made. */
  revision: bigint;
  group: string;
  kind: GroupEventKind;
  /** The member that joined or left. */
  member?: GroupMember;
  /** Why the member left, if it did. */
  endReason?: EndReason;
  /** The number of the member that leads after this event. */
  leader?: bigint;
  /** The leader's token. */
  token?: bigint;
  /** The config that was set. Unset if it was cleared. */
  config?: string;
  /** The wall clock of the server that wrote it, for people. */
  time?: Date;
}

/** Something in the history of a lock: a hold, or that the database lost a part of the history. */
export type HistoryEntry = HoldRecord | HistoryLoss;

/** A hold, from its grant to its end. What is no longer in history is unset. Times are wall clocks, for people. */
export interface HoldRecord {
  kind: 'hold';
  claimId: bigint;
  names: string[];
  token: bigint;
  sessionId: string;
  owner: string;
  metadata: Metadata;
  priority: number;
  queued?: Date;
  granted?: Date;
  /** Unset: it lasts. */
  ended?: Date;
  waitedMs?: number;
  heldMs?: number;
  /** The longest time without a renewal during the hold. Close to the TTL: the holder was about to lose its locks. */
  longestPauseMs?: number;
  /** For a hold that lasts: how long ago the session was renewed. */
  sinceRenewalMs?: number;
  ttlMs?: number;
  endReason?: EndReason;
  operator?: string;
  note?: string;
}

/** The database lost a part of the history, as by a failover to a copy that was behind. */
export interface HistoryLoss {
  kind: 'loss';
  /** The last revision before the loss. */
  afterRevision: bigint;
  /** The first revision after it. */
  revision: bigint;
  time?: Date;
}
