// Watches.
import type { GroupEvent, Leader, Lock, LockEvent, WatchItem } from 'tenure-client';
import { ClosedError } from 'tenure-client';
import type { Handler } from './request.js';
import { Things } from './request.js';
import { clientsByName } from './sessions.js';
import { claimToWire, groupToWire } from './wire.js';

/** A watch, or who observes an election. */
const watchesByName = new Things<AsyncIterator<object, undefined>>('watch');

function eventToWire({ revision, name, kind, claim, endReason, vacant }: LockEvent): object {
  const { sessionId, token } = claim ?? {};
  return { revision, name, kind, session_id: sessionId, token, end_reason: endReason, vacant };
}

function groupEventToWire(event: GroupEvent): object {
  const { revision, group, kind, member, endReason, config } = event;
  const { number, sessionId } = member ?? {};
  return { revision, group, kind, number, session_id: sessionId, end_reason: endReason, config };
}

export function lockToWire({ name, holders, waiters }: Lock): object {
  return { name, holders: holders.map(claimToWire), waiters: waiters.map(claimToWire) };
}

function itemToWire(item: WatchItem): object {
  switch (item.kind) {
    case 'snapshot': {
      const { kind, revision, locks, groups } = item;
      return { kind, revision, locks: locks.map(lockToWire), groups: groups.map(groupToWire) };
    }
    case 'events': {
      const { kind, revision, events, groupEvents, groups } = item;
      return {
        kind,
        revision,
        events: events.map(eventToWire),
        group_events: groupEvents.map(groupEventToWire),
        groups: groups.map(groupToWire),
      };
    }
    case 'progress':
    case 'history_gone':
      return item;
  }
}

export function leaderToWire(leader: Leader | undefined): object | undefined {
  return leader && { session_id: leader.sessionId, owner: leader.owner, token: leader.token };
}

function mapped<T>(items: AsyncIterator<T, unknown>, toWire: (item: T) => object): AsyncIterator<object, undefined> {
  return {
    async next() {
      const { done, value } = await items.next();
      return done === true ? { done, value: undefined } : { done: false, value: toWire(value) };
    },
    async return() {
      await items.return?.();
      return { done: true, value: undefined };
    },
  };
}

export const watches: Record<string, Handler> = {
  watch: (request) => {
    const afterRevision = request.revision('after_revision');
    const options = {
      ...request.options({ names: 'names', prefixes: 'prefixes', groups: 'groups' }),
      ...(afterRevision !== undefined && { afterRevision }),
    };
    watchesByName.set(request, mapped(clientsByName.get(request).watch(options), itemToWire));
    return {};
  },
  observe: (request) => {
    const leaders = clientsByName.get(request).election(request.text('name')).observe();
    watchesByName.set(
      request,
      mapped(leaders, (leader) => ({ leader: leaderToWire(leader) })),
    );
    return {};
  },
  next: async (request) => {
    const { done, value } = await watchesByName.get(request).next();
    if (done === true) {
      throw new ClosedError();
    }
    return value;
  },
  unwatch: async (request) => {
    await watchesByName.get(request).return?.();
    return {};
  },
};
