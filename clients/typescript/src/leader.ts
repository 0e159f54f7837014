// Who leads, as told by locks and what happens to them.
import type { Claim, LockEvent, Metadata } from './model.js';

/** Who leads. */
export interface Leader {
  /** The fencing token of the leadership. */
  token: bigint;
  sessionId: string;
  /** The leader's owner label. */
  owner: string;
  /** The leader's labels. */
  metadata: Metadata;
}

export function leaderOf(claim: Claim | undefined): Leader | undefined {
  if (claim?.token === undefined) {
    return undefined;
  }
  const { token, sessionId, owner, metadata } = claim;
  return { token, sessionId, owner, metadata };
}

/** Who leads after an event, if before it was `leader`. */
export function leaderAfter(leader: Leader | undefined, event: LockEvent): Leader | undefined {
  switch (event.kind) {
    case 'granted':
    case 'transferred':
    case 'updated':
      return leaderOf(event.claim);
    case 'ended':
    case 'lingering':
      // The end of a waiter's claim changes nothing.
      return event.vacant || leader?.token === event.claim?.token ? undefined : leader;
    default:
      return leader;
  }
}
