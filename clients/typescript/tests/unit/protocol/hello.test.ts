// What a Hello states, and what becomes of that.
import { describe, expect, it } from 'vitest';
import type { Item } from '../../../src/protocol/item.js';
import { Declaration, DeclaredSession, EndReason } from '../../../src/v1.js';
import {
  Bench,
  changesIn,
  claimTo,
  ended,
  held,
  lost,
  opened,
  reported,
  type Sent,
  WITHDRAWN,
} from '../../support/bench.js';

type State = ReturnType<typeof opened>;

/** The Hello, and the changes after it. */
function helloAndChanges([hello, ...changes]: Sent[]) {
  if (hello?.$case !== 'hello') {
    return expect.unreachable();
  }
  return { hello: hello.value, changes: changes.flatMap(changesIn) };
}

describe('a Hello', () => {
  it('states the known and the declared in order', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const claim = bench.hold(session, 7n);
    const [late, alone] = [bench.claim(session), bench.open()];
    const [both, inBoth] = bench.declare(undefined, claimTo('other'));
    bench.reconnect();
    const hello = bench.hello();
    expect(hello).toMatchObject({ clientId: 'client', epoch: 2n, more: false, paused: [] });
    expect(hello.known).toEqual([session.number, claim.number]);
    const declared = hello.declared.map(({ session, open, claims }) => [
      session,
      !!open,
      ...claims.map((c) => c.number),
    ]);
    expect(declared).toEqual([
      [session.number, false, late.number],
      [alone.number, true],
      [both!.number, true, inBoth!.number],
    ]);
  });

  it('that was lost is repeated with a higher epoch', () => {
    const bench = new Bench();
    bench.connect();
    const session = bench.open();
    bench.sent();
    bench.reconnect();
    const first = bench.hello();
    expect(first.declared).toMatchObject([{ session: session.number }]);
    bench.pass(300);
    bench.reconnect();
    expect(bench.hello()).toEqual({ ...first, epoch: first.epoch + 1n });
    bench.pass(50);
    bench.welcome();
    bench.states([session, opened()]);
    expect(session.validity.renewed, 'counts from the Hello that was answered').toBe(10_300);
  });

  it('states again what was in flight when the stream broke', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const [kept, dropped] = [bench.hold(session, 7n), bench.hold(session, 8n)];
    const [declared, cancelled] = [bench.claim(session), bench.claim(session)];
    bench.withdraw(dropped);
    bench.withdraw(cancelled);
    expect(bench.changes(), 'sent, and lost').toHaveLength(4);
    bench.reconnect();
    const { hello, changes } = helloAndChanges(bench.sent());
    expect(hello.known, 'so that the reason of its end is reported').toEqual(
      [session, kept, dropped].map((i) => i.number),
    );
    expect(hello.declared.flatMap(({ claims }) => claims.map((c) => c.number))).toEqual([declared.number]);
    expect(changes).toEqual([{ $case: 'withdraw', value: dropped.number }]);
    expect(cancelled.status.kind).toBe('withdrawn');
    bench.welcome();
    expect(cancelled.status, 'the server has seen that it is not stated').toEqual(WITHDRAWN);
    expect(dropped.status.kind).toBe('withdrawn');
    bench.states([dropped, ended(EndReason.EVICTED)]);
    expect(dropped.status).toEqual(reported(EndReason.EVICTED));
  });

  it('closes a session again that was being closed, with everything in it', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const claim = bench.hold(session, 7n);
    bench.withdraw(session);
    bench.reconnect();
    const { hello, changes } = helloAndChanges(bench.sent());
    expect(hello.known).toEqual([session.number, claim.number]);
    expect(changes).toEqual([{ $case: 'withdraw', value: session.number }]);
  });

  it('does not undo a withdrawal after it', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const claim = bench.hold(session, 7n);
    bench.reconnect();
    expect(bench.hello().known).toEqual([session.number, claim.number]);
    bench.withdraw(claim);
    bench.welcome();
    bench.states([claim, held(7n)]);
    expect(claim.status.kind).toBe('withdrawn');
    expect(bench.changes()).toEqual([{ $case: 'withdraw', value: claim.number }]);
    bench.states([claim, ended(EndReason.RELEASED)]);
    expect(claim.status).toEqual(WITHDRAWN);
  });

  it('does not state what was withdrawn before it was sent', () => {
    const bench = new Bench();
    const session = bench.open();
    const claim = bench.claim(session);
    bench.withdraw(session);
    expect([session.status, claim.status]).toEqual([WITHDRAWN, WITHDRAWN]);
    expect(bench.protocol.items.size).toBe(0);
    bench.connect();
    expect(bench.hello()).toMatchObject({ known: [], declared: [] });
  });

  it('is followed by what was declared before it', () => {
    const bench = new Bench();
    const [session, claim] = bench.declare(undefined, claimTo('job'));
    const [alone, dropped] = bench.declare(undefined, claimTo('job'));
    const late = bench.claim(session!);
    bench.withdraw(dropped!);
    bench.pass(60_000);
    bench.connect();
    const { hello, changes } = helloAndChanges(bench.sent());
    expect(hello, 'no server can have received it').toMatchObject({ known: [], declared: [] });
    expect(changes).toMatchObject([
      { value: { session: session!.number, open: {}, claims: [{ number: claim!.number }] } },
      { value: { session: alone!.number, open: {}, claims: [] } },
      { value: { session: session!.number, open: undefined, claims: [{ number: late.number }] } },
    ]);
    bench.welcome();
    bench.states([session!, opened()]);
    expect(session!.validity.renewed).toBe(bench.now);
  });

  it('states no more than servers accept', () => {
    const bench = new Bench();
    const open = DeclaredSession.fromPartial({ metadata: { label: 'l'.repeat(1000) } });
    const sessions = Array.from({ length: 3000 }, () => bench.protocol.declare({ open }, undefined, bench.now)[0]!);
    bench.connect();
    expect(helloAndChanges(bench.sent()).hello.declared, 'no server can have received it').toEqual([]);
    const openedByStream: number[] = [];
    for (let opening = sessions.length; opening > 0; opening -= openedByStream.at(-1)!) {
      bench.reconnect();
      const { declared } = helloAndChanges(bench.sent()).hello;
      const bytes = declared.reduce((sum, one) => sum + Declaration.encode(one).finish().length, 0);
      expect(bytes).toBeGreaterThan(0);
      expect(bytes).toBeLessThan(1 << 20);
      const numbers = new Set(declared.map(({ session }) => session));
      bench.welcome();
      bench.states(
        ...sessions.filter(({ number }) => numbers.has(number)).map((one): [Item, State] => [one, opened()]),
      );
      openedByStream.push(declared.length);
    }
    expect(openedByStream).toHaveLength(4);
  });

  it('states a hundred thousand claims in parts', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const claims = Array.from({ length: 100_000 }, () => bench.claim(session));
    let changes = bench.changes();
    for (let confirmed = 0; confirmed < claims.length; changes = bench.changes()) {
      expect(changes.length, 'the rest is declared, too').toBeGreaterThan(0);
      const declared = claims.slice(confirmed, confirmed + changes.length);
      bench.states(...declared.map((claim): [Item, State] => [claim, held(claim.number)]));
      confirmed += declared.length;
    }
    bench.reconnect();
    const parts = bench.sent().map((sent) => helloAndChanges([sent]).hello);
    expect(parts.map(({ more }) => more)).toEqual([true, false]);
    expect(parts.every(({ epoch, clientId }) => epoch === 2n && clientId === 'client')).toBe(true);
    expect(parts.flatMap(({ known }) => known)).toEqual([session, ...claims].map(({ number }) => number));
  });
});

describe('a superseded client', () => {
  it('loses everything and takes a new id', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const claim = bench.hold(session, 7n);
    bench.reconnect();
    bench.protocol.handleSuperseded(bench.epoch - 1, 'other');
    expect(claim.status.kind, "that was this client's own doing").toBe('held');
    bench.protocol.handleSuperseded(bench.epoch, 'other');
    expect([session.status, claim.status]).toEqual([lost('in_use'), lost('in_use')]);
    const next = bench.open();
    expect(next.number, 'numbers are never used twice').toBeGreaterThan(claim.number);
    bench.connect();
    const { hello, changes } = helloAndChanges(bench.sent());
    expect(hello).toMatchObject({ clientId: 'other', known: [], declared: [] });
    expect(changes).toMatchObject([{ $case: 'declare', value: { session: next.number } }]);
  });
});
