// Finding a server: one endpoint after the other, without waiting for those that hang.
import { RefusedError, UnavailableError } from '../errors.js';
import { abortable } from '../latest.js';
import type { Security } from '../security.js';
import type { NumberedEndpoint } from './connection.js';
import { Connection } from './connection.js';

/** The next endpoint is tried beside one that has not answered for this part of the connect time-out. */
const STAGGER_DIVISOR = 4;
/** But not slower than this ... */
const LONGEST_STAGGER_MS = 100;
/** ... nor faster than this. */
const SHORTEST_STAGGER_MS = 10;

/** How long to wait for servers, in milliseconds. */
export interface Pace {
  /** How long connecting to one server may take. */
  limit: number;
  /** After how long the next one is tried beside it, at most. */
  stagger: number;
}

/**
 * Tries these servers once, in this order: the next as soon as one fails or takes long. The first that opens a stream is
 * taken. The error is that of the last one that failed, unless one refused the credentials.
 */
export function dial(
  endpoints: readonly NumberedEndpoint[],
  security: Security,
  pace: Pace,
  signal: AbortSignal,
): Promise<Connection> {
  const stagger = Math.max(
    Math.min(pace.stagger, pace.limit / STAGGER_DIVISOR, LONGEST_STAGGER_MS),
    SHORTEST_STAGGER_MS,
  );
  const decided = new AbortController();
  return abortable(signal, (resolve, reject) => {
    let next = 0;
    let underWay = 0;
    let failure: Error = new UnavailableError('there are no endpoints');
    let timer: NodeJS.Timeout | undefined;
    const decide = () => {
      clearTimeout(timer);
      decided.abort();
    };
    const tryNext = () => {
      clearTimeout(timer);
      const endpoint = endpoints[next];
      if (endpoint === undefined) {
        return;
      }
      next += 1;
      underWay += 1;
      timer = setTimeout(tryNext, stagger);
      Connection.open(endpoint, security, pace.limit, decided.signal).then(
        (connection) => {
          if (decided.signal.aborted) {
            connection.close();
          } else {
            decide();
            resolve(connection);
          }
        },
        (error: unknown) => {
          underWay -= 1;
          if (decided.signal.aborted) {
            return;
          }
          // That the credentials are refused is what can be mended; the others may only be away.
          if (!(failure instanceof RefusedError)) {
            failure = error as Error;
          }
          if (next < endpoints.length) {
            tryNext();
          } else if (underWay === 0) {
            decide();
            reject(failure);
          }
        },
      );
    };
    if (endpoints.length === 0) {
      reject(failure);
    }
    tryNext();
    return decide;
  });
}
