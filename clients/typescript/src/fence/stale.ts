// The rejection by a fence.
import { TenureError } from '../error.js';

/** Another holder has taken over: end the work under this token. A retry cannot succeed. */
export class StaleTokenError extends TenureError {
  override readonly name = 'StaleTokenError';
  readonly code = 'STALE_TOKEN';

  constructor(
    /** What is protected. */
    readonly fence: string,
    /** The token that was rejected. */
    readonly token: bigint,
    /** The highest one that the database has seen for the name. */
    readonly highest: bigint,
    options?: ErrorOptions,
  ) {
    super(`stale fencing token ${token}: ${highest} is the highest seen for ${fence}`, options);
  }
}

/** The message of the fence, to which each driver adds text. That of SQLite has no numbers. */
const REFUSAL = /\bstale fencing token\b(?: \d+: (\d+) is the highest seen for )?/;

/** The rejection of a token: with the highest one seen, if the message has it. Undefined for any other error. */
export function staleness(error: unknown): { highest: bigint | undefined } | undefined {
  const said = REFUSAL.exec(error instanceof Error ? error.message : '');
  if (said === null) {
    return undefined;
  }
  const [, highest] = said;
  return { highest: highest === undefined ? undefined : BigInt(highest) };
}
