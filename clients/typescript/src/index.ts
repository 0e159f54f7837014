/**
 * Client of Tenure, a lock and leadership service. Everything begins with a `Client`.
 *
 * Durations are milliseconds, in fields that end with `Ms`; tokens and revisions are `bigint`. Reads, watches and operators' calls
 * take and return the messages of the contract, which are in `v1`; durations in these are `google.protobuf.Duration`.
 *
 * @packageDocumentation
 */
export { holderOf } from './calls.js';
export { Client, type OwnSession } from './client.js';
export type { CallOptions } from './connection/call.js';
export { fromWire, toWire } from './convert.js';
export { Election, type ElectionOptions, type LeaderBody } from './election.js';
export {
  ClosedError,
  describeLost,
  type ErrorCode,
  InvalidError,
  LostError,
  type LostReason,
  RefusedError,
  TenureError,
  UnavailableError,
} from './error.js';
export { assignEach, type Assignments, Membership, type Standing } from './group/membership.js';
export { type GroupOptions, GroupRequest } from './group/request.js';
export { Guard, type Hold, TransferRequest } from './guard.js';
export { type Attempt, type Body, type LockOptions, LockRequest, type Ran } from './lock.js';
export type { Cancellable, ClientOptions } from './options/client.js';
export type { SecurityOptions } from './options/security.js';
export type { Metadata, SessionOptions } from './options/session.js';
export { Presence } from './presence.js';
export { Session, type SessionState } from './session.js';
export * as v1 from './v1.js';
