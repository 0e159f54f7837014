// The protocol against a scripted server: the tests pass the time, and decide what arrives.
import { expect } from 'vitest';
import { toWire } from '../../src/convert.js';
import type { Item } from '../../src/protocol/item.js';
import { Protocol } from '../../src/protocol/protocol.js';
import type { DeclaredClaim, Hello, OpenState, State } from '../../src/v1.js';
import {
  Change,
  ConnectRequest,
  ConnectResponse,
  DeclaredClaim as Claim,
  DeclaredSession,
  EndReason,
} from '../../src/v1.js';

export const RENEW_AFTER = 400;
export const WARN_AFTER = 720;
export const VALID_FOR = 1100;

export type Sent = NonNullable<ConnectRequest['kind']>;
export type Changed = NonNullable<Change['kind']>;
type Kind = NonNullable<State['kind']>;

/** A client's protocol, and the time. */
export class Bench {
  readonly protocol = new Protocol('default', 'client');
  now = 10_000;
  epoch = 0;

  /** Connected and welcomed. */
  static connected(): Bench {
    const bench = new Bench();
    bench.connect();
    bench.hello();
    bench.welcome();
    return bench;
  }

  connect(): void {
    this.epoch = this.protocol.handleConnected(this.now);
  }

  reconnect(): void {
    this.protocol.handleDisconnected(this.epoch);
    this.connect();
  }

  pass(milliseconds: number): void {
    const until = this.now + milliseconds;
    for (let next = this.protocol.pollTimeout(); next <= until; next = this.protocol.pollTimeout()) {
      this.now = Math.max(next, this.now);
      this.protocol.handleTimeout(this.now);
      expect(this.protocol.pollTimeout(), 'a timer that is always due').toBeGreaterThan(this.now);
    }
    this.now = until;
  }

  open(...claims: DeclaredClaim[]): Item {
    return this.declare(undefined, ...claims)[0]!;
  }

  declare(session: Item | undefined, ...claims: DeclaredClaim[]): Item[] {
    const open = session ? undefined : DeclaredSession.fromPartial({});
    return this.protocol.declare({ open, claims }, session, this.now);
  }

  /** An open session. */
  session(): Item {
    const session = this.open();
    this.sent();
    this.states([session, opened()]);
    return session;
  }

  claim(session: Item): Item {
    return this.declare(session, claimTo('job'))[0]!;
  }

  /** A held claim. */
  hold(session: Item, token: bigint): Item {
    const claim = this.claim(session);
    this.sent();
    this.states([claim, held(token)]);
    return claim;
  }

  withdraw(item: Item): void {
    this.protocol.withdraw(item, this.now);
  }

  setPaused(session: Item, isPaused: boolean): void {
    this.protocol.setPaused(session, isPaused, this.now);
  }

  /** All messages that are to be sent. */
  sent(): Sent[] {
    const sent: Sent[] = [];
    for (let request = this.protocol.pollTransmit(); request; request = this.protocol.pollTransmit()) {
      expect(ConnectRequest.encode(request).finish().length).toBeLessThan(4 << 20);
      sent.push(request.kind!);
    }
    return sent;
  }

  /** The Hello that is to be sent, alone. */
  hello(): Hello {
    const sent = this.sent();
    expect(sent.map(({ $case }) => $case)).toEqual(['hello']);
    return sent[0]!.value as Hello;
  }

  /** All changes that are to be sent, and nothing else. */
  changes(): Changed[] {
    return this.sent().flatMap(changesIn);
  }

  /** The number of the keep-alive that is to be sent, alone. */
  keepAlive(): bigint {
    const sent = this.sent();
    expect(sent).toEqual([{ $case: 'keepAlive', value: { number: expect.any(BigInt) as bigint } }]);
    return (sent[0]!.value as { number: bigint }).number;
  }

  receive(kind: NonNullable<ConnectResponse['kind']>, epoch = this.epoch): void {
    this.protocol.handleResponse(epoch, ConnectResponse.fromPartial({ kind }), this.now);
  }

  welcome(lostRevision = 0n): void {
    this.receive({ $case: 'welcome', value: { server: 1n, revision: 1n, lostRevision } });
  }

  states(...states: [Item, Kind][]): void {
    const value = { states: states.map(([{ number }, kind]) => ({ number, kind })) };
    this.receive({ $case: 'states', value });
  }

  kept(number: bigint): void {
    this.receive({ $case: 'keptAlive', value: { number } });
  }
}

export function changesIn(sent: Sent): Changed[] {
  expect(sent.$case).toBe('changes');
  return sent.$case === 'changes' ? sent.value.changes.map(({ kind }) => kind!) : [];
}

export function claimTo(name: string, metadata: Record<string, string> = {}): DeclaredClaim {
  return Claim.fromPartial({ names: [name], metadata });
}

export function opened(state: Partial<OpenState> = {}): Kind {
  const [renewAfter, warnAfter, validFor] = [RENEW_AFTER, WARN_AFTER, VALID_FOR].map(toWire);
  return { $case: 'open', value: { sessionId: 'a', openedRevision: 1n, renewAfter, warnAfter, validFor, ...state } };
}

export function held(token: bigint): Kind {
  return { $case: 'held', value: { token, transfer: undefined } };
}

export const WAITING: Kind = { $case: 'waiting', value: { holder: undefined } };
export const BUSY: Kind = { $case: 'busy', value: { holder: undefined } };

export function ended(reason: EndReason): Kind {
  return { $case: 'ended', value: { reason, operator: '', note: '' } };
}

export function rejected(reason: string): Kind {
  return { $case: 'rejected', value: { code: 0, reason, message: '', metadata: {} } };
}

/** The end that the server has reported. */
export function reported(reason: EndReason): object {
  return {
    kind: 'ended',
    end: { kind: 'lost', reason: { reason: 'ended', ended: { reason, operator: '', note: '' } } },
  };
}

export function lost(reason: 'unrenewed' | 'stalled' | 'forgotten' | 'in_use'): object {
  return { kind: 'ended', end: { kind: 'lost', reason: { reason } } };
}

export const WITHDRAWN = { kind: 'ended', end: { kind: 'withdrawn' } };
