// Watches.
import { ClosedError, type v1 } from 'tenure-client';
import { type Handler, Things } from './request.js';
import { clientsByName } from './sessions.js';
import { Cancelled, claimToWire, groupToWire, wordOf } from './wire.js';

/** A watch, or an observed election. */
const watchesByName = new Things<Watching>('watch');

/** Reads ahead by one item, so that it begins at once. */
class Watching {
  private readonly stopping = new AbortController();
  private readonly items: AsyncIterator<object, undefined>;
  private ahead: Promise<IteratorResult<object, undefined>>;

  constructor(start: (signal: AbortSignal) => AsyncIterator<object, undefined>) {
    this.items = start(this.stopping.signal);
    this.ahead = this.read();
  }

  async next(): Promise<object> {
    const { ahead } = this;
    this.ahead = this.read();
    const { done, value } = await ahead;
    if (done === true) {
      throw new ClosedError();
    }
    return value;
  }

  stop(): void {
    this.stopping.abort(new Cancelled());
  }

  private read(): Promise<IteratorResult<object, undefined>> {
    const next = this.items.next();
    next.catch(() => undefined);
    return next;
  }
}

function eventsToWire({ revision, names, type, claim, endReason, vacantNames }: v1.Event): object[] {
  const { sessionId, token } = claim ?? {};
  const ofAll = { revision, kind: wordOf(type), session_id: sessionId, token: token || undefined };
  return names.map((name) => ({ ...ofAll, name, end_reason: wordOf(endReason), vacant: vacantNames.includes(name) }));
}

function groupEventToWire(event: v1.GroupEvent): object {
  const { revision, group, type, member, endReason, config } = event;
  const { number, sessionId } = member ?? {};
  return { revision, group, kind: wordOf(type), number, session_id: sessionId, end_reason: wordOf(endReason), config };
}

export function lockToWire({ name, holders, waiters }: v1.Lock): object {
  return { name, holders: holders.map(claimToWire), waiters: waiters.map(claimToWire) };
}

function responseToWire({ revision, kind }: v1.WatchResponse): object {
  switch (kind?.$case) {
    case 'snapshot': {
      const { locks, groups } = kind.value;
      return { kind: 'snapshot', revision, locks: locks.map(lockToWire), groups: groups.map(groupToWire) };
    }
    case 'events': {
      const { events, groupEvents, groups } = kind.value;
      return {
        kind: 'events',
        revision,
        events: events.flatMap(eventsToWire),
        group_events: groupEvents.map(groupEventToWire),
        groups: groups.map(groupToWire),
      };
    }
    case 'historyGone':
      return { kind: 'history_gone', cause: kind.value.cause.replace('HISTORY_GONE_CAUSE_', '').toLowerCase() };
    case 'progress':
    case undefined:
      return { kind: 'progress', revision };
  }
}

export function leaderToWire(leader: v1.Claim | undefined): object | undefined {
  return leader && { session_id: leader.sessionId, owner: leader.owner, token: leader.token };
}

async function* mapped<T>(items: AsyncIterable<T>, toWire: (item: T) => object): AsyncGenerator<object, undefined> {
  for await (const item of items) {
    yield toWire(item);
  }
  return undefined;
}

export const watches: Record<string, Handler> = {
  watch: (request) => {
    const fields = request.options({ names: 'names', prefixes: 'prefixes', groups: 'groups' });
    const watched = { ...fields, afterRevision: request.revision('after_revision') ?? 0n };
    const client = clientsByName.get(request);
    watchesByName.set(request, new Watching((signal) => mapped(client.watch(watched, { signal }), responseToWire)));
    return {};
  },
  observe: (request) => {
    const election = clientsByName.get(request).election(request.text('name'));
    const leaders = (signal: AbortSignal) =>
      mapped(election.observe({ signal }), (leader) => ({ leader: leaderToWire(leader) }));
    watchesByName.set(request, new Watching(leaders));
    return {};
  },
  next: (request) => watchesByName.get(request).next(),
  unwatch: (request) => {
    watchesByName.get(request).stop();
    return {};
  },
};
