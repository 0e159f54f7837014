// From the status of a call to an error of this library.
import { type ServiceError, status } from '@grpc/grpc-js';
import { RefusedError, type TenureError, UnavailableError } from '../error.js';
import { ErrorInfo, Status } from '../generated/google/rpc/status.js';

/** The domain of the service's own error details. */
const DOMAIN = 'tenure';
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';
/** A time-out of this library surfaces as cancelled, a broken transport as unavailable or unknown. */
const NO_REPLY: readonly status[] = [status.UNAVAILABLE, status.CANCELLED, status.UNKNOWN];

/** Decided by the reason in the details, if they are of the service itself. */
export function errorOf({ code, details, metadata }: ServiceError): TenureError {
  const [bytes] = metadata.get('grpc-status-details-bin');
  const any =
    bytes instanceof Buffer ? Status.decode(bytes).details.find(({ typeUrl }) => typeUrl === ERROR_INFO) : undefined;
  const info = any && ErrorInfo.decode(any.value);
  const known = info?.domain === DOMAIN ? info : undefined;
  // A passed deadline is no rejection, even if the server reports it.
  if (code === status.DEADLINE_EXCEEDED || (NO_REPLY.includes(code) && !known)) {
    return new UnavailableError(details);
  }
  return new RefusedError({ code, reason: known?.reason ?? '', message: details, metadata: known?.metadata ?? {} });
}
