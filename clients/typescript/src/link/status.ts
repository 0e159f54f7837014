// From a gRPC status to an error of this library.
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import type { ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import type { TenureError } from '../errors.js';
import { RefusedError, UnavailableError } from '../errors.js';

const DOMAIN = 'tenure';
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';
/** A time-out of this library surfaces as cancelled, a broken transport as unavailable or unknown. */
const NO_ANSWER: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.UNKNOWN,
]);

/** What a failed call means. Decided by the reason in its details, if the server gave one. */
export function errorOf(error: ServiceError): TenureError {
  const refusal = refusalOf(error);
  if (refusal !== undefined) {
    return refusal;
  }
  return NO_ANSWER.has(error.code)
    ? new UnavailableError(error.details)
    : new RefusedError(status[error.code], error.details, {});
}

/** The refusal by a server of ours, if it is one. */
export function refusalOf(error: ServiceError): RefusedError | undefined {
  // That a deadline passed is no refusal, also where it is the server that says so.
  if (error.code === status.DEADLINE_EXCEEDED) {
    return undefined;
  }
  const [details] = error.metadata.get('grpc-status-details-bin');
  const info = details instanceof Buffer ? errorInfo(details) : undefined;
  return info?.domain === DOMAIN ? new RefusedError(info.reason, error.details, info.metadata) : undefined;
}

interface ErrorInfo {
  reason: string;
  domain: string;
  metadata: Record<string, string>;
}

/** The google.rpc.ErrorInfo among the details of a google.rpc.Status. */
function errorInfo(bytes: Uint8Array): ErrorInfo | undefined {
  for (const any of fieldsOf(bytes).filter(({ number }) => number === 3)) {
    const fields = fieldsOf(any.bytes);
    if (textOf(fields, 1) === ERROR_INFO) {
      const info = fieldsOf(fields.find(({ number }) => number === 2)?.bytes ?? new Uint8Array());
      const entries = info.filter(({ number }) => number === 3).map(({ bytes }) => fieldsOf(bytes));
      const metadata = Object.fromEntries(entries.map((entry) => [textOf(entry, 1), textOf(entry, 2)]));
      return { reason: textOf(info, 1), domain: textOf(info, 2), metadata };
    }
  }
  return undefined;
}

interface Field {
  number: number;
  bytes: Uint8Array;
}

/** The fields of a message that have a length: texts, bytes and messages. */
function fieldsOf(message: Uint8Array): Field[] {
  const reader = new BinaryReader(message);
  const fields: Field[] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (type === WireType.LengthDelimited) {
      fields.push({ number, bytes: reader.bytes() });
    } else {
      reader.skip(type);
    }
  }
  return fields;
}

function textOf(fields: Field[], wanted: number): string {
  return new TextDecoder().decode(fields.find(({ number }) => number === wanted)?.bytes);
}
