import { describe, expect, it } from 'vitest';
import type { AnswerKind } from '../../src/engine/stream.js';
import { RefusedError } from '../../src/errors.js';
import { Bench } from '../support/bench.js';

describe('watches', () => {
  const progress = (revision: bigint) =>
    ({ $case: 'watch', value: { revision, kind: { $case: 'progress', value: {} } } }) as const;

  it('are resumed after what was told last', () => {
    const bench = new Bench();
    const watched = bench.engine.watch({ names: ['job'] }, bench.now);
    bench.hear(bench.saidOnce('watch')[0], progress(5n));
    bench.reconnect();
    expect(bench.saidOnce('watch')[1].afterRevision).toBe(5n);
    expect(watched.take(bench.now)).toEqual({ kind: 'progress', revision: 5n });
    watched.end();
    bench.saidOnce('cancel');
  });

  it('put the parts of a snapshot together', () => {
    const bench = new Bench();
    const watched = bench.engine.watch({}, bench.now);
    const [command] = bench.saidOnce('watch');
    const part = (more: boolean): AnswerKind => ({
      $case: 'watch',
      value: { revision: 5n, kind: { $case: 'snapshot', value: { locks: [], groups: [], more } } },
    });
    bench.hear(command, part(true));
    expect(watched.take(bench.now)).toBeUndefined();
    bench.hear(command, part(false));
    expect(watched.take(bench.now)).toMatchObject({ kind: 'snapshot', revision: 5n });
  });

  it('of a reader that is behind are stopped, and miss nothing', () => {
    const bench = new Bench();
    const watched = bench.engine.watch({}, bench.now);
    const [command] = bench.saidOnce('watch');
    for (let revision = 1n; revision <= 70n; revision += 1n) {
      bench.hear(command, progress(revision));
    }
    bench.saidOnce('cancel');
    for (let revision = 1n; revision <= 64n; revision += 1n) {
      bench.saysNothing();
      expect(watched.take(bench.now)).toEqual({ kind: 'progress', revision });
    }
    expect(bench.saidOnce('watch')[1].afterRevision).toBe(64n);
  });

  it('end with what trying again cannot cure', () => {
    const bench = new Bench();
    const watched = bench.engine.watch({}, bench.now);
    bench.refuse(bench.saidOnce('watch')[0], 'DRAINING');
    bench.pass(20);
    bench.refuse(bench.saidOnce('watch')[0], 'INVALID_FIELD');
    expect(watched.ended?.error).toBeInstanceOf(RefusedError);
  });
});
