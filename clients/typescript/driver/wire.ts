// Converts between the client's values and those of the driver's protocol.
import { InvalidError, LostError, type LostReason, RefusedError, TenureError, type v1 } from 'tenure-client';

/** Why a request that was cancelled ends. */
export class Cancelled extends Error {
  constructor() {
    super('cancelled');
  }
}

/** A mistake of the scenario. */
export class DriverError extends Error {}

/** Integers that a number cannot hold exactly, from where a value begins to where it ends. */
const LONG_INTEGER = /([:[,]\s*)(\d{16,})(?=\s*[,}\]])/g;
/** What stands for a bigint until the text is complete. */
const BIGINT = /"bigint:(\d+)"/g;

export function parse(line: string): Record<string, unknown> {
  return JSON.parse(line.replace(LONG_INTEGER, '$1"$2"')) as Record<string, unknown>;
}

export function print(value: unknown): string {
  const text = JSON.stringify(value, (_key, value: unknown) => (typeof value === 'bigint' ? `bigint:${value}` : value));
  return text.replace(BIGINT, '$1');
}

export function lostToWire(lost: LostReason | undefined): object | undefined {
  if (lost?.reason !== 'ended') {
    return lost && { reason: lost.reason === 'unrenewed' ? 'expired' : lost.reason };
  }
  const { reason, operator, note } = lost.ended;
  return { reason: 'ended', end_reason: wordOf(reason), operator: operator || undefined, note: note || undefined };
}

export function errorToWire(error: unknown): object {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Cancelled) {
    return { kind: 'cancelled', message };
  }
  if (error instanceof RefusedError) {
    return { kind: 'refused', message, reason: error.reason, metadata: error.metadata };
  }
  if (error instanceof LostError) {
    return { kind: 'lost', message, lost: lostToWire(error.lost) };
  }
  if (error instanceof InvalidError) {
    return { kind: 'invalid', message, field: snakeCase(error.field) };
  }
  return { kind: error instanceof TenureError ? error.code.toLowerCase() : 'driver', message };
}

/** The name of an option in all languages, which has no unit. */
function snakeCase(name: string): string {
  return name.replace(/Ms$/, '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The value of an enum of the contract in one word; undefined if it is unspecified. */
export function wordOf(value: v1.EndReason | v1.EventType | v1.GroupEventType | v1.Mode): string | undefined {
  return /^(?:END_REASON|EVENT_TYPE|GROUP_EVENT_TYPE|MODE)_(?!UNSPECIFIED)(.*)$/.exec(value)?.[1]?.toLowerCase();
}

export function claimToWire(claim: v1.Claim | undefined): object | undefined {
  if (claim === undefined) {
    return undefined;
  }
  const { sessionId, owner, token, mode, priority, metadata } = claim;
  return { session_id: sessionId, owner, token: token || undefined, mode: wordOf(mode), priority, metadata };
}

export function memberToWire({ number, sessionId, owner, assignment }: v1.GroupMember): object {
  return { number, session_id: sessionId, owner, assignment };
}

export function groupToWire(group: v1.Group): object {
  const { name, members, leader, config, assignmentsCurrent } = group;
  return {
    name,
    members: members.map(memberToWire),
    leader: leader && { number: leader.member, token: leader.token, session_id: leader.sessionId },
    config,
    current: assignmentsCurrent,
  };
}
