// Watches: resumed after the last revision that their reader was told, on whatever stream there is.
import type { Moment } from '../clock.js';
import { eventsOf, groupEventOf, groupOf, lockOf } from '../convert.js';
import type { TenureError } from '../errors.js';
import { RefusedError } from '../errors.js';
import type { WatchResponse } from '../generated/tenure/v1/watch.js';
import { HistoryGoneCause } from '../generated/tenure/v1/watch.js';
import type { Group, GroupEvent, Lock, LockEvent } from '../model.js';
import { commandBackoff } from '../link/backoff.js';
import type { Engine } from './engine.js';

/** How many items may wait for the reader before the watch is stopped and resumed later. */
const ITEMS_IN_QUEUE = 64;

/** What to watch. With neither names nor prefixes nor groups: all locks. */
export interface WatchOptions {
  /** Locks by name: at most 100. */
  names?: readonly string[];
  /** Locks by prefix: at most 100. The empty one watches all. */
  prefixes?: readonly string[];
  /** Groups by name: at most 100. */
  groups?: readonly string[];
  /** Begin with the events after this revision instead of a snapshot: the last one that an earlier watch told. */
  afterRevision?: bigint;
}

/** What a watch tells. All up to `revision` has been told. */
export type WatchItem =
  /** All that is watched, as it is at one revision. Comes first unless the watch was resumed, and after `history_gone`. */
  | { kind: 'snapshot'; revision: bigint; locks: Lock[]; groups: Group[] }
  /** What happened in one commit, in order of revision, and the watched groups that changed, as they are after it. */
  | { kind: 'events'; revision: bigint; events: LockEvent[]; groupEvents: GroupEvent[]; groups: Group[] }
  /** Nothing happened to what is watched. */
  | { kind: 'progress'; revision: bigint }
  /** The history after the last revision that was told is not there any more. A snapshot follows. */
  | { kind: 'history_gone'; cause: 'compacted' | 'lost' | 'unknown' };

const CAUSES: Readonly<Record<number, 'compacted' | 'lost'>> = {
  [HistoryGoneCause.COMPACTED]: 'compacted',
  [HistoryGoneCause.LOST]: 'lost',
};

/** One watch. */
export class Watched {
  /** What its reader has not taken yet. */
  private readonly items: WatchItem[] = [];
  private over: { error: TenureError | undefined } | undefined;
  private isPaused = false;
  private command: number | undefined;
  /** All up to this revision has been told. */
  private after: bigint;
  /** The parts of a snapshot that have come so far: of a lock that changed meanwhile, what came last. */
  private snapshot: { locks: Map<string, Lock>; groups: Group[] } = { locks: new Map(), groups: [] };
  private readonly backoff = commandBackoff();
  private wake: (() => void) | undefined;

  constructor(
    private readonly engine: Engine,
    private readonly options: WatchOptions,
  ) {
    this.after = options.afterRevision ?? 0n;
  }

  /** The next item, if there is one. The reader that has taken all is told more. */
  take(now: Moment): WatchItem | undefined {
    const item = this.items.shift();
    if (this.isPaused && this.items.length === 0) {
      this.isPaused = false;
      this.send(now);
    }
    return item;
  }

  /** That it is over, and why if for an error, once all before was taken. */
  get ended(): { error: TenureError | undefined } | undefined {
    return this.items.length === 0 ? this.over : undefined;
  }

  /** Has `wake` called when there is something to take or it is over. */
  onNews(wake: (() => void) | undefined): void {
    this.wake = wake;
  }

  detach(): void {
    this.command = undefined;
    this.snapshot = { locks: new Map(), groups: [] };
  }

  send(now: Moment): void {
    if (this.isPaused || this.command !== undefined || this.over !== undefined) {
      return;
    }
    const { names = [], prefixes = [], groups = [] } = this.options;
    const command = this.engine.send(
      {
        $case: 'watch',
        value: {
          namespace: this.engine.namespace,
          names: [...names],
          prefixes: [...prefixes],
          groups: [...groups],
          afterRevision: this.after,
        },
      },
      {
        watch: (answer) => this.command === command && this.told(answer),
        refusal: (refusal, _sent, now) => this.command === command && this.refused(RefusedError.from(refusal), now),
      },
      now,
    );
    this.command = command;
  }

  private told({ revision, kind }: WatchResponse): void {
    this.backoff.reset();
    switch (kind?.$case) {
      case 'snapshot': {
        const { locks, groups } = this.snapshot;
        for (const lock of kind.value.locks) {
          locks.set(lock.name, lockOf(lock));
        }
        groups.push(...kind.value.groups.map(groupOf));
        if (!kind.value.more) {
          this.snapshot = { locks: new Map(), groups: [] };
          this.hand({ kind: 'snapshot', revision, locks: [...locks.values()], groups }, revision);
        }
        return;
      }
      case 'events': {
        const events = kind.value.events.flatMap(eventsOf);
        const groupEvents = kind.value.groupEvents.map(groupEventOf);
        const groups = kind.value.groups.map(groupOf);
        this.hand({ kind: 'events', revision, events, groupEvents, groups }, revision);
        return;
      }
      case 'historyGone':
        this.snapshot = { locks: new Map(), groups: [] };
        this.hand({ kind: 'history_gone', cause: CAUSES[kind.value.cause] ?? 'unknown' }, 0n);
        return;
      case 'progress':
      case undefined:
        this.hand({ kind: 'progress', revision }, revision);
    }
  }

  private hand(item: WatchItem, after: bigint): void {
    if (this.items.length < ITEMS_IN_QUEUE) {
      this.items.push(item);
      this.after = after;
      this.wake?.();
      return;
    }
    // Its reader is behind: nothing may pile up here. What could not be told now is asked for again later.
    this.isPaused = true;
    this.stop();
  }

  private refused(refusal: RefusedError, now: Moment): void {
    this.detach();
    if (this.engine.isForNow(refusal)) {
      this.engine.timers.set(now + this.backoff.nextPause(), (now) => this.send(now));
    } else {
      this.end(refusal);
    }
  }

  /** Nothing more is told. */
  end(error?: TenureError): void {
    if (this.over === undefined) {
      this.over = { error };
      this.engine.watches.delete(this);
      this.stop();
      this.wake?.();
    }
  }

  private stop(): void {
    if (this.command !== undefined) {
      this.engine.stopWatch(this.command);
    }
    this.detach();
  }
}
