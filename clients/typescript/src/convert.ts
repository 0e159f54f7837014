// From the contract's messages to the nouns, and back.
import type { Duration } from './generated/google/protobuf/duration.js';
import type { Group as WireGroup, GroupMember as WireMember } from './generated/tenure/v1/group.js';
import type { HistoryEntry as WireEntry, HoldRecord as WireHold } from './generated/tenure/v1/history.js';
import type { Lock as WireLock, LockSettings as WireSettings } from './generated/tenure/v1/lock.js';
import type { Claim as WireClaim, Session as WireSession } from './generated/tenure/v1/session.js';
import { ClaimState, EndReason, Mode } from './generated/tenure/v1/session.js';
import type { Event as WireEvent, GroupEvent as WireGroupEvent } from './generated/tenure/v1/watch.js';
import { EventType, GroupEventType } from './generated/tenure/v1/watch.js';
import type * as model from './model.js';

/** A duration for the wire. */
export function toWire(milliseconds: number): Duration {
  const seconds = Math.floor(milliseconds / 1000);
  return { seconds: BigInt(seconds), nanos: Math.floor((milliseconds - seconds * 1000) * 1e6) };
}

/** A duration from the wire, in milliseconds. */
export function fromWire(duration: Duration): number {
  return Math.max(0, Number(duration.seconds) * 1000 + duration.nanos / 1e6);
}

function milliseconds(duration: Duration | undefined): number | undefined {
  return duration && fromWire(duration);
}

/** Text that is empty where there is none. */
export function optional(text: string): string | undefined {
  return text === '' ? undefined : text;
}

/** The same without the fields that are undefined, so that what is unset is not there. */
function defined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

const END_REASONS: Readonly<Record<number, model.EndReason>> = {
  [EndReason.RELEASED]: 'released',
  [EndReason.EXPIRED]: 'expired',
  [EndReason.DISCONNECTED]: 'disconnected',
  [EndReason.CLOSED]: 'closed',
  [EndReason.EVICTED]: 'evicted',
  [EndReason.TRANSFERRED]: 'transferred',
};

export function endReasonOf(reason: EndReason): model.EndReason {
  return END_REASONS[reason] ?? 'unknown';
}

function endReasonIfAny(reason: EndReason): model.EndReason | undefined {
  return reason === EndReason.UNSPECIFIED ? undefined : endReasonOf(reason);
}

const CLAIM_STATES: Readonly<Record<number, model.ClaimState>> = {
  [ClaimState.WAITING]: 'waiting',
  [ClaimState.HELD]: 'held',
  [ClaimState.LINGERING]: 'lingering',
};

const MODES: Readonly<Record<number, model.Mode>> = {
  [Mode.UNSPECIFIED]: 'exclusive',
  [Mode.EXCLUSIVE]: 'exclusive',
  [Mode.SHARED]: 'shared',
  [Mode.PERMITS]: 'permits',
};

export function claimOf(claim: WireClaim): model.Claim {
  return defined<model.Claim>({
    id: claim.id,
    names: claim.names,
    state: CLAIM_STATES[claim.state] ?? 'unknown',
    token: claim.token === 0n ? undefined : claim.token,
    sessionId: claim.sessionId,
    owner: claim.owner,
    metadata: Object.fromEntries(claim.metadata),
    priority: claim.priority,
    minHoldMs: milliseconds(claim.minHold) ?? 0,
    mode: MODES[claim.mode] ?? 'unknown',
    permits: claim.permits || undefined,
    limit: claim.limit || undefined,
    transfer:
      claim.transfer &&
      defined<model.PendingTransfer>({
        to: optional(claim.transfer.toSessionId),
        drainMs: milliseconds(claim.transfer.drain) ?? 0,
      }),
    deadlock: claim.deadlock,
  });
}

function settingsOf(settings: WireSettings | undefined): model.LockSettings {
  const preempt = settings?.preempt;
  return defined<model.LockSettings>({
    limit: settings?.limit ? settings.limit : undefined,
    preempt: preempt && { settlingMs: milliseconds(preempt.settling) ?? 0, drainMs: milliseconds(preempt.drain) ?? 0 },
  });
}

export function settingsToWire(settings: model.LockSettings): WireSettings {
  const { limit = 0, preempt } = settings;
  const duration = (ms: number | undefined) => (ms === undefined ? undefined : toWire(ms));
  return {
    limit,
    preempt: preempt && { settling: duration(preempt.settlingMs), drain: duration(preempt.drainMs) },
  };
}

export function lockOf(lock: WireLock): model.Lock {
  return defined<model.Lock>({
    name: lock.name,
    holders: lock.holders.map(claimOf),
    waiters: lock.waiters.map(claimOf),
    holderCount: lock.holderCount,
    waiterCount: lock.waiterCount,
    limit: lock.limit || undefined,
    settings: settingsOf(lock.settings),
  });
}

export function sessionOf(session: WireSession): model.SessionInfo {
  return defined<model.SessionInfo>({
    id: session.id,
    openedRevision: session.openedRevision,
    ttlMs: milliseconds(session.ttl) ?? 0,
    disconnectGraceMs: milliseconds(session.disconnectGrace),
    owner: session.owner,
    metadata: Object.fromEntries(session.metadata),
    home: session.home,
    claims: session.claims.map(claimOf),
    remainingMs: milliseconds(session.remaining),
  });
}

const EVENT_KINDS: Readonly<Record<number, model.EventKind>> = {
  [EventType.QUEUED]: 'queued',
  [EventType.GRANTED]: 'granted',
  [EventType.LINGERING]: 'lingering',
  [EventType.ENDED]: 'ended',
  [EventType.TRANSFER_STARTED]: 'transfer_started',
  [EventType.TRANSFER_CANCELLED]: 'transfer_cancelled',
  [EventType.TRANSFERRED]: 'transferred',
  [EventType.UPDATED]: 'updated',
  [EventType.CONFIGURED]: 'configured',
};

/** What the contract's event says, lock by lock. */
export function eventsOf(event: WireEvent): model.LockEvent[] {
  return event.names.map((name) => eventOf(event, name));
}

function eventOf(event: WireEvent, name: string): model.LockEvent {
  return defined<model.LockEvent>({
    revision: event.revision,
    name,
    kind: EVENT_KINDS[event.type] ?? 'unknown',
    claim: event.claim && claimOf(event.claim),
    endReason: endReasonIfAny(event.endReason),
    operator: optional(event.operator),
    note: optional(event.note),
    vacant: event.vacantNames.includes(name),
    time: event.time,
    previous: event.previous && claimOf(event.previous),
    settings: event.type === EventType.CONFIGURED ? settingsOf(event.settings) : undefined,
  });
}

export function memberOf(member: WireMember): model.GroupMember {
  return defined<model.GroupMember>({
    number: member.number,
    sessionId: member.sessionId,
    owner: member.owner,
    metadata: Object.fromEntries(member.metadata),
    assignment: member.assignment,
  });
}

export function groupOf(group: WireGroup): model.Group {
  return defined<model.Group>({
    name: group.name,
    leader: group.leader,
    members: group.members.map(memberOf),
    membershipRevision: group.membershipRevision,
    config: group.config,
    configRevision: group.configRevision,
    assignmentsCurrent: group.assignmentsCurrent,
    assignmentsRevision: group.assignmentsRevision,
  });
}

const GROUP_EVENT_KINDS: Readonly<Record<number, model.GroupEventKind>> = {
  [GroupEventType.JOINED]: 'joined',
  [GroupEventType.LEFT]: 'left',
  [GroupEventType.CONFIGURED]: 'configured',
  [GroupEventType.ASSIGNED]: 'assigned',
};

export function groupEventOf(event: WireGroupEvent): model.GroupEvent {
  return defined<model.GroupEvent>({
    revision: event.revision,
    group: event.group,
    kind: GROUP_EVENT_KINDS[event.type] ?? 'unknown',
    member: event.member && memberOf(event.member),
    endReason: endReasonIfAny(event.endReason),
    leader: event.leader || undefined,
    token: event.token || undefined,
    config: event.config,
    time: event.time,
  });
}

function holdOf(hold: WireHold): model.HoldRecord {
  return defined<model.HoldRecord>({
    kind: 'hold',
    claimId: hold.claimId,
    names: hold.names,
    token: hold.token,
    sessionId: hold.sessionId,
    owner: hold.owner,
    metadata: Object.fromEntries(hold.metadata),
    priority: hold.priority,
    queued: hold.queuedTime,
    granted: hold.grantedTime,
    ended: hold.endedTime,
    waitedMs: milliseconds(hold.waited),
    heldMs: milliseconds(hold.held),
    longestPauseMs: milliseconds(hold.longestPause),
    sinceRenewalMs: milliseconds(hold.sinceRenewal),
    ttlMs: milliseconds(hold.ttl),
    endReason: endReasonIfAny(hold.endReason),
    operator: optional(hold.operator),
    note: optional(hold.note),
  });
}

/** Nothing of what this version does not know. */
export function historyEntryOf(entry: WireEntry): model.HistoryEntry | undefined {
  switch (entry.kind?.$case) {
    case 'hold':
      return holdOf(entry.kind.value);
    case 'loss': {
      const { afterRevision, revision, time } = entry.kind.value;
      return defined<model.HistoryLoss>({ kind: 'loss', afterRevision, revision, time });
    }
    case undefined:
      return undefined;
  }
}
