// Watches.
import type { GroupEvent, Lock, LockEvent, Watch, WatchItem } from 'tenure-client';
import type { Handler } from './request.js';
import { Things } from './request.js';
import { clientsByName } from './sessions.js';
import { claimToWire, DriverError, groupToWire } from './wire.js';

const watchesByName = new Things<Watch>('watch');

function eventToWire({ revision, name, kind, claim, endReason, vacant }: LockEvent): object {
  const { sessionId, token } = claim ?? {};
  return { revision, name, kind, session_id: sessionId, token, end_reason: endReason, vacant };
}

function groupEventToWire(event: GroupEvent): object {
  const { revision, group, kind, member, endReason, leader, token, config } = event;
  const { number, sessionId } = member ?? {};
  return { revision, name: group, kind, number, session_id: sessionId, end_reason: endReason, leader, token, config };
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

export const watches: Record<string, Handler> = {
  watch: (request) => {
    const afterRevision = request.revision('after_revision');
    const options = {
      ...request.options({ names: 'names', prefixes: 'prefixes', groups: 'groups' }),
      ...(afterRevision !== undefined && { afterRevision }),
    };
    watchesByName.set(request, clientsByName.get(request).watch(options));
    return {};
  },
  next: async (request) => {
    const { done, value } = await watchesByName.get(request).next();
    if (done === true) {
      throw new DriverError('the watch has ended');
    }
    return itemToWire(value);
  },
  unwatch: async (request) => {
    await watchesByName.get(request).return();
    return {};
  },
};
