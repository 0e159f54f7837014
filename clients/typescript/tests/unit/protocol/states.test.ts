// What the states of the server cause.
import { describe, expect, it } from 'vitest';
import { toWire } from '../../../src/convert.js';
import type { Item } from '../../../src/protocol/item.js';
import { EndReason, PendingTransfer } from '../../../src/v1.js';
import {
  Bench,
  BUSY,
  changesIn,
  claimTo,
  ended,
  held,
  lost,
  opened,
  rejected,
  reported,
  VALID_FOR,
  WAITING,
  WITHDRAWN,
} from '../../support/bench.js';

describe('a claim', () => {
  it('waits and is held', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const claim = bench.claim(session);
    bench.states([claim, WAITING]);
    expect(claim.status).toEqual({ kind: 'waiting', busy: { holder: undefined } });
    bench.states([claim, held(7n)]);
    expect(claim.status).toEqual({ kind: 'held', token: 7n });
    const pending = PendingTransfer.fromPartial({ operator: 'op', drain: toWire(1000) });
    bench.states([claim, { $case: 'held', value: { token: 7n, transfer: pending } }]);
    expect(claim.status).toEqual({ kind: 'held', token: 7n, transfer: { pending, since: bench.now } });
  });

  it('that is busy ends the session that was opened for it', () => {
    const bench = Bench.connected();
    const [session, claim] = bench.declare(undefined, claimTo('job'));
    const [declared] = bench.changes();
    expect(declared).toMatchObject({
      $case: 'declare',
      value: { session: session!.number, claims: [{ number: claim!.number }] },
    });
    bench.states([claim!, BUSY], [session!, BUSY]);
    const busy = { kind: 'ended', end: { kind: 'busy', busy: { holder: undefined } } };
    expect([session!.status, claim!.status]).toEqual([busy, busy]);
    expect(bench.protocol.items.size).toBe(0);
  });

  it('that is withdrawn ignores states until its end', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const claim = bench.claim(session);
    bench.withdraw(claim);
    bench.withdraw(claim);
    expect(claim.status.kind).toBe('withdrawn');
    expect(bench.changes(), 'declared, and withdrawn once').toHaveLength(2);
    bench.states([claim, held(7n)]);
    expect(claim.status.kind).toBe('withdrawn');
    bench.states([claim, ended(EndReason.RELEASED)], [claim, held(7n)]);
    expect(claim.status).toEqual(WITHDRAWN);
  });

  it('has no state of an earlier stream', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const claim = bench.claim(session);
    const old = bench.epoch;
    bench.connect();
    bench.receive({ $case: 'states', value: { states: [{ number: claim.number, kind: held(7n) }] } }, old);
    expect(claim.status.kind).toBe('declared');
    expect(bench.hello().declared[0]?.claims[0]?.number).toBe(claim.number);
  });
});

describe('a session', () => {
  it('that is rejected ends with everything in it', () => {
    const bench = Bench.connected();
    const session = bench.open();
    const claim = bench.claim(session);
    bench.states([session, rejected('INVALID_FIELD')]);
    const end = { kind: 'ended', end: { kind: 'rejected', refusal: { reason: 'INVALID_FIELD' } } };
    expect(session.status).toMatchObject(end);
    expect(claim.status).toMatchObject(end);
    bench.sent();
    const late = bench.claim(session);
    expect(late.status).toEqual(lost('forgotten'));
    expect(bench.sent()).toEqual([]);
  });

  it.each([
    ['evicted', (bench: Bench, session: Item) => bench.states([session, ended(EndReason.EVICTED)])],
    ['rejected', (bench: Bench, session: Item) => bench.states([session, rejected('LIMIT_REACHED')])],
    ['lost', (bench: Bench) => bench.pass(VALID_FOR)],
    ['withdrawn', (bench: Bench, session: Item) => bench.withdraw(session)],
  ])('that is %s is reported before what is in it', (_, end) => {
    const bench = Bench.connected();
    const session = bench.session();
    const claim = bench.claim(session);
    bench.protocol.changed.clear();
    end(bench, session);
    expect([...bench.protocol.changed]).toEqual([session, claim]);
  });

  it('that is withdrawn ends with everything in it', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const claim = bench.hold(session, 7n);
    bench.withdraw(session);
    bench.withdraw(claim);
    expect(bench.changes()).toEqual([{ $case: 'withdraw', value: session.number }]);
    expect(bench.claim(session).status).toEqual(lost('forgotten'));
    bench.states([session, ended(EndReason.CLOSED)]);
    expect([session.status, claim.status]).toEqual([WITHDRAWN, WITHDRAWN]);
    bench.pass(VALID_FOR * 2);
    expect(
      bench.sent().filter(({ $case }) => $case !== 'keepAlive'),
      'only the probe of the withdrawal',
    ).toEqual([]);
  });
});

describe('a hold', () => {
  it.each([
    ['held with another token', held(9n)],
    ['waiting', WAITING],
  ])('that the database lost ends at once when it is reported as %s', (_, state) => {
    const bench = Bench.connected();
    const session = bench.session();
    const claim = bench.hold(session, 7n);
    bench.reconnect();
    bench.hello();
    bench.welcome();
    bench.states([session, opened()], [claim, state]);
    expect(claim.status).toEqual(lost('forgotten'));
    expect(bench.changes()).toEqual([{ $case: 'withdraw', value: claim.number }]);
    bench.states([claim, ended(EndReason.RELEASED)]);
    expect(claim.status).toEqual(lost('forgotten'));
  });

  it.each([
    [EndReason.RELEASED, WITHDRAWN],
    [EndReason.TRANSFERRED, WITHDRAWN],
    [EndReason.CLOSED, WITHDRAWN],
    [EndReason.UNSPECIFIED, WITHDRAWN],
    [EndReason.EXPIRED, reported(EndReason.EXPIRED)],
    [EndReason.DISCONNECTED, reported(EndReason.DISCONNECTED)],
    [EndReason.EVICTED, reported(EndReason.EVICTED)],
  ])('that was withdrawn and ended as %s', (reason, status) => {
    const bench = Bench.connected();
    const claim = bench.hold(bench.session(), 7n);
    bench.withdraw(claim);
    bench.states([claim, ended(reason)]);
    expect(claim.status).toEqual(status);
  });

  it('that was withdrawn and waits again was lost', () => {
    const bench = Bench.connected();
    const claim = bench.hold(bench.session(), 7n);
    bench.withdraw(claim);
    bench.states([claim, WAITING]);
    expect(claim.status).toEqual(lost('forgotten'));
  });

  it.each([
    [7n, WITHDRAWN],
    [8n, lost('forgotten')],
  ])('with token 7 that is unknown after a loss of history up to %d', (lostRevision, status) => {
    const bench = Bench.connected();
    const session = bench.session();
    const claim = bench.hold(session, 7n);
    bench.withdraw(claim);
    bench.reconnect();
    bench.sent();
    bench.welcome(lostRevision);
    bench.states([session, opened()], [claim, ended(EndReason.UNSPECIFIED)]);
    expect(claim.status).toEqual(status);
  });
});

describe('rejected credentials', () => {
  it('end what no server has confirmed', () => {
    const bench = Bench.connected();
    const session = bench.session();
    bench.protocol.handleDisconnected(bench.epoch);
    const claim = bench.claim(session);
    const refusal = { code: 16, reason: 'UNAUTHENTICATED', message: '', metadata: {} };
    bench.protocol.handleRejected(refusal, bench.now);
    expect(claim.status).toEqual({ kind: 'ended', end: { kind: 'rejected', refusal } });
    expect(session.status.kind).toBe('open');
  });
});

describe('changes', () => {
  it('are declared in the order of their requests', () => {
    const bench = Bench.connected();
    const session = bench.session();
    const first = bench.claim(session);
    bench.withdraw(first);
    bench.claim(session);
    const [sent, ...more] = bench.sent();
    expect(more).toEqual([]);
    expect(changesIn(sent!).map(({ $case }) => $case)).toEqual(['declare', 'withdraw', 'declare']);
  });
});
