// How often a session was asked to be attached.
import type { RefusedError } from '../errors.js';

/** To how many attachments the session's client has counted, if a refusal says that this one is late. */
export function countedAttachment(refusal: RefusedError): bigint | undefined {
  const counted = refusal.metadata['attachment'];
  const isLate = refusal.reason === 'LATE_ATTACHMENT' && counted !== undefined && /^\d+$/.test(counted);
  return isLate ? BigInt(counted) : undefined;
}
