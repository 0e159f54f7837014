// Messages of the contract as JSON, for the type checker: see proto/tenure/v1, where all fields are described.

/** @typedef {{ id: string, names: string[], state: string, token?: string, sessionId: string, owner?: string,
 *   metadata?: Record<string, string>, priority?: number, minHold?: string, mode?: string, permits?: number, limit?: number,
 *   transfer?: { toSessionId?: string, drain?: string }, deadlock?: string[], grantedAt?: string }} Claim */

/** @typedef {{ name: string, holders: Claim[], waiters: Claim[], holderCount: number, waiterCount: number, limit: number,
 *   settings?: { limit?: number, preempt?: { settling?: string, drain?: string } } }} Lock */

/** @typedef {{ revision: string, name: string, type: string, claim?: Claim, endReason?: string, operator?: string, note?: string,
 *   vacant?: boolean, time?: string, previous?: Claim, settings?: object }} LockEvent */

/** @typedef {{ number: string, sessionId: string, owner?: string, metadata?: Record<string, string>, assignment?: string }} Member */

/** @typedef {{ name: string, leader?: { member: string, token: string, sessionId: string, owner?: string }, members?: Member[],
 *   membershipRevision?: string, config?: string, configRevision?: string, assignmentsCurrent?: boolean,
 *   assignmentsRevision?: string }} Group */

/** @typedef {{ id: string, ttl?: string, owner?: string, metadata?: Record<string, string>, home?: string, claims?: Claim[],
 *   remaining?: string, disconnectGrace?: string, identity?: string, openedRevision?: string }} Session */

/** @typedef {{ claimId: string, names: string[], token?: string, sessionId: string, owner?: string, metadata?: Record<string, string>,
 *   priority?: number, queuedTime?: string, grantedTime?: string, endedTime?: string, waited?: string, held?: string,
 *   longestPause?: string, sinceRenewal?: string, ttl?: string, endReason?: string, operator?: string, note?: string }} Hold */

/** @typedef {{ hold?: Hold, loss?: { afterRevision: string, revision: string, time: string } }} HistoryEntry */

/** @typedef {{ id: string, label?: string, address?: string, answering?: boolean, dead?: boolean, lease?: string, sinceHeartbeat?: string,
 *   sessions?: string }} ServerInfo */

/** @typedef {{ version: string, access: 'starting' | 'readOnly' | 'token' | 'closed', endpoint: string, tls: boolean, label: string,
 *   why?: { message: string } }} About */

export {};
