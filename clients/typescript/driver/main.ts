// The driver of tests/blackbox/scenarios: requests from standard input, answers to standard output, one JSON object a
// line.
import { createInterface } from 'node:readline';
import { elections } from './elections.js';
import { groups } from './groups.js';
import { locks } from './locks.js';
import { measurements } from './measure.js';
import { operations } from './operations.js';
import type { Handler } from './request.js';
import { Request } from './request.js';
import { sessions } from './sessions.js';
import { watches } from './watches.js';
import { Cancelled, DriverError, errorToWire, parse, print } from './wire.js';

const underWay = new Map<unknown, AbortController>();

const handlers: Record<string, Handler> = {
  hello: () => ({ client: 'typescript', does: Object.keys(handlers) }),
  cancel: (request) => {
    underWay.get(request.need('request'))?.abort(new Cancelled());
    return {};
  },
  ...sessions,
  ...locks,
  ...elections,
  ...watches,
  ...groups,
  ...operations,
  ...measurements,
};

async function answer(line: string): Promise<void> {
  const fields = parse(line);
  const { id } = fields;
  const controller = new AbortController();
  underWay.set(id, controller);
  try {
    const handler = handlers[String(fields['do'])];
    if (handler === undefined) {
      throw new DriverError(`there is no request ${print(fields['do'])}`);
    }
    process.stdout.write(`${print({ id, ok: (await handler(new Request(fields, controller.signal))) ?? {} })}\n`);
  } catch (error) {
    process.stdout.write(`${print({ id, error: errorToWire(error) })}\n`);
  } finally {
    underWay.delete(id);
  }
}

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => void answer(line));
// Without closing anything.
lines.on('close', () => process.exit(0));
