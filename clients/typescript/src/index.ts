/**
 * Client of Tenure, a lock and leadership service. Everything begins with a `Client`.
 *
 * Durations are milliseconds, in fields that end with `Ms`; tokens and revisions are `bigint`.
 *
 * @packageDocumentation
 */
export { Client, type OwnSession } from './client.js';
export { Election, type ElectionOptions, type LeaderBody } from './election.js';
export type { WatchItem, WatchOptions } from './engine/watched.js';
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
} from './errors.js';
export type { Assignments } from './group/calls.js';
export { Membership } from './group/membership.js';
export { type GroupOptions, GroupRequest } from './group/request.js';
export { assignEach, Standing } from './group/standing.js';
export { Guard, Hold } from './guard.js';
export { TransferRequest } from './handoff.js';
export type { Leader } from './leader.js';
export { type Attempt, type Body, type LockOptions, LockRequest, type Ran } from './lock.js';
export * from './model.js';
export type { ConfigureOptions, EvictOptions, TransferOptions } from './operate.js';
export type { Cancellable, ClientOptions } from './options.js';
export type { SessionState } from './presence.js';
export type { SecurityOptions } from './security.js';
export { Session, type SessionOptions } from './session.js';
export { Watch } from './watch.js';
