// The refusal of a fence.
import { TenureError } from '../errors.js';

/** Another holder has taken over: end the work under this token. Trying again is in vain. */
export class StaleTokenError extends TenureError {
  override readonly name = 'StaleTokenError';
  readonly code = 'STALE_TOKEN';

  constructor(
    /** What is protected. */
    readonly fence: string,
    /** The token that was refused. */
    readonly token: bigint,
    /** The highest one that the database has seen for the name. */
    readonly highest: bigint,
    options?: ErrorOptions,
  ) {
    super(`stale fencing token ${token}: ${highest} is the highest seen for ${fence}`, options);
  }
}

/** As the fence says it. Each driver adds something of its own, before or after. SQLite tells no numbers. */
const REFUSAL = /\bstale fencing token\b(?: \d+: (\d+) is the highest seen for )?/;

/** What a database has said that refuses a token: the highest one seen, if it tells that. Undefined: it is another error. */
export function staleness(error: unknown): { highest: bigint | undefined } | undefined {
  const said = REFUSAL.exec(error instanceof Error ? error.message : '');
  if (said === null) {
    return undefined;
  }
  const [, highest] = said;
  return { highest: highest === undefined ? undefined : BigInt(highest) };
}
