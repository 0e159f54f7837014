// Times of acquires and releases, beside those of plain calls.
import { Client, credentials } from '@grpc/grpc-js';
import type { Guard } from 'tenure-client';
import type { Handler } from './request.js';
import { sessionsByName } from './sessions.js';

/** The first calls on a channel take longer: so many are not measured. */
const WARM_UP = 20;

/** How long it takes, in microseconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return Math.round((performance.now() - start) * 1000);
}

/** An empty request is no bytes, and the reply is not read. */
function check(channel: Client): Promise<void> {
  const bytes = (value: Buffer) => value;
  return new Promise((resolve, reject) => {
    channel.makeUnaryRequest('/grpc.health.v1.Health/Check', bytes, bytes, Buffer.alloc(0), (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

export const measurements: Record<string, Handler> = {
  measure: async (request) => {
    const { signal } = request;
    const lock = sessionsByName.get(request).lock('measured');
    const address = request.text('endpoint').replace('http://', '');
    const channel = new Client(address, credentials.createInsecure(), { 'grpc.enable_http_proxy': 0 });
    const pairs: number[] = [];
    const calls: number[] = [];
    try {
      for (let call = 0; call < WARM_UP; call++) {
        await check(channel);
      }
      for (let turn = 0; turn < Number(request.need('turns')); turn++) {
        pairs.push(await timed(async () => (await lock.acquire({ signal })).release()));
        calls.push(await timed(() => check(channel)));
      }
    } finally {
      channel.close();
    }
    return { pairs_us: pairs, calls_us: calls };
  },
  hold_many: async (request) => {
    const { signal } = request;
    const session = sessionsByName.get(request);
    const locks = Array.from({ length: Number(request.need('count')) }, (_, n) => session.lock(`many-${n}`));
    const guards: Guard[] = [];
    const held = await timed(() => Promise.all(locks.map(async (lock) => guards.push(await lock.acquire({ signal })))));
    const released = await timed(() => Promise.all(guards.map((guard) => guard.release())));
    return { held_us: held, released_us: released };
  },
};
