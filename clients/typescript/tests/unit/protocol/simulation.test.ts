// Whatever arrives when, a session that is called valid has not ended at the server.
import { expect, it } from 'vitest';
import { EndReason, type ConnectResponse } from '../../../src/v1.js';
import { Bench, ended, opened, type Sent } from '../../support/bench.js';

const TTL = 1200;
/** The server's clock runs as fast as clocks may. */
const DRIFT = 1.01;
const RUNS = 300;
const STEPS = 200;

/** A generator of numbers from 0 to below 1, from a seed (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A server that ends its one session as early as it may. */
class FakeServer {
  private session: { renewed: number; isPaused: boolean } | undefined;
  readonly replies: NonNullable<ConnectResponse['kind']>[] = [];

  constructor(private readonly number: bigint) {}

  has(now: number): boolean {
    if (this.session && now >= this.session.renewed + TTL / DRIFT) {
      this.session = undefined;
    }
    return this.session !== undefined;
  }

  receive(sent: Sent, now: number): void {
    this.has(now);
    if (sent.$case === 'hello') {
      if (sent.value.declared.length > 0) {
        this.session ??= { renewed: now, isPaused: false };
      }
      if (this.session) {
        this.session.isPaused = sent.value.paused.includes(this.number);
        this.session.renewed = this.session.isPaused ? this.session.renewed : now;
      }
      const kind = this.session ? opened() : ended(EndReason.EXPIRED);
      this.replies.push({ $case: 'welcome', value: { server: 1n, revision: 1n, lostRevision: 0n } });
      this.replies.push({ $case: 'states', value: { states: [{ number: this.number, kind }] } });
    } else if (sent.$case === 'keepAlive') {
      if (this.session && !this.session.isPaused) {
        this.session.renewed = now;
      }
      this.replies.push({ $case: 'keptAlive', value: { number: sent.value.number } });
    } else {
      for (const { kind } of sent.value.changes) {
        if (kind?.$case === 'withdraw') {
          this.session = undefined;
        } else if (kind?.$case === 'declare') {
          this.session = { renewed: now, isPaused: false };
          this.replies.push({ $case: 'states', value: { states: [{ number: this.number, kind: opened() }] } });
        } else if (this.session) {
          this.session =
            kind?.$case === 'pause' ? { ...this.session, isPaused: true } : { renewed: now, isPaused: false };
        }
      }
    }
  }
}

function simulate(seed: number): { validChecks: number } {
  const next = random(seed);
  const bench = new Bench();
  const session = bench.open();
  const server = new FakeServer(session.number);
  bench.connect();
  let [toServer, validChecks, wasLost]: [Sent[], number, boolean] = [[], 0, false];
  for (let step = 0; step < STEPS && session.status.kind !== 'ended'; step += 1) {
    const which = next() * 18;
    if (which < 4) {
      bench.pass(Math.floor(next() * 400));
    } else if (which < 10) {
      toServer.splice(0).forEach((sent) => server.receive(sent, bench.now));
    } else if (which < 16) {
      server.replies.splice(0, 1).forEach((kind) => bench.receive(kind));
    } else if (which < 17) {
      toServer = [];
      server.replies.length = 0;
      bench.reconnect();
    } else {
      bench.setPaused(session, next() < 0.5);
    }
    toServer.push(...bench.sent());
    const isValid = session.validity.isOpen && session.lostReason(bench.now) === undefined;
    if (isValid) {
      validChecks += 1;
      expect(wasLost, `revived, with seed ${seed}`).toBe(false);
      expect(server.has(bench.now), `valid after its end, with seed ${seed}`).toBe(true);
    }
    wasLost ||= session.validity.isOpen && !isValid;
  }
  return { validChecks };
}

it('a session is never valid after the server may have ended it', () => {
  const first = Math.floor(Math.random() * 2 ** 31);
  let validChecks = 0;
  for (let run = 0; run < RUNS; run += 1) {
    validChecks += simulate(first + run).validChecks;
  }
  expect(validChecks, 'most of the time it is valid').toBeGreaterThan(RUNS);
});
