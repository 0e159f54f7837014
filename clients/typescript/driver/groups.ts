// Groups.
import type { Membership, Metadata, Standing } from 'tenure-client';
import { assignEach, Client } from 'tenure-client';
import type { Handler, Request } from './request.js';
import { Things } from './request.js';
import { clientsByName, ownSession, place } from './sessions.js';
import { Cancelled, DriverError, groupToWire, lostToWire } from './wire.js';

/** A member by `join`, or one that takes part for ever. */
interface Member {
  standing(): Standing | undefined;
  /** Each change of where it stands. */
  standings(signal: AbortSignal): AsyncIterable<Standing | undefined>;
  leave(): Promise<void>;
  membership?: Membership;
}

const membersByName = new Things<Member>('member');

function joined(membership: Membership): Member {
  return {
    membership,
    standing: () => membership.standing,
    standings: (signal) => membership.standings({ signal }),
    leave: () => membership.leave(),
  };
}

function takingPart(request: Request): Member {
  const stopping = new AbortController();
  const news = new EventTarget();
  let latest: Standing | undefined;
  const ended = groupRequest(request).takePart(
    (group) => assignEach(group, (place) => String(place + 1)),
    (standing) => {
      latest = standing;
      news.dispatchEvent(new Event('news'));
    },
    { signal: stopping.signal },
  );
  ended.catch(() => undefined);
  return {
    standing: () => latest,
    async *standings() {
      for (;;) {
        yield latest;
        await Promise.race([ended, new Promise((resolve) => news.addEventListener('news', resolve, { once: true }))]);
      }
    },
    async leave() {
      stopping.abort(new Cancelled());
      await ended.catch(() => undefined);
    },
  };
}

function groupRequest(request: Request) {
  const metadata = request.get<Metadata>('metadata');
  const options = metadata === undefined ? {} : { metadata };
  const at = place(request);
  const group = request.text('group');
  return at instanceof Client ? at.group(group, { ...options, ...ownSession(request) }) : at.group(group, options);
}

function standingToWire(standing: Standing | undefined): object {
  if (standing === undefined) {
    throw new DriverError('it is no member yet');
  }
  const { leads, token, number, assignment, isCurrent, group, lost } = standing;
  const members = group.members.map((member) => member.number);
  const { config } = group;
  return { leads, token, number, assignment, current: isCurrent, members, config, lost: lostToWire(lost) };
}

/** Whether all that the request waits for is so. */
function isAsWanted(request: Request, standing: Standing): boolean {
  const found: Record<string, unknown> = {
    leads: standing.leads,
    assignment: standing.assignment,
    current: standing.isCurrent,
    member_count: standing.group.members.length,
  };
  return Object.entries(found).every(([field, value]) => !request.has(field) || request.get(field) === value);
}

function membershipOf(request: Request): Membership {
  const { membership } = membersByName.get(request);
  if (membership === undefined) {
    throw new DriverError('who takes part assigns by itself');
  }
  return membership;
}

export const groups: Record<string, Handler> = {
  join: async (request) => {
    const { signal } = request;
    const membership = await groupRequest(request).join({ signal });
    membersByName.set(request, joined(membership));
    const { number, session, standing } = membership;
    return { number, session_id: session.id, leads: standing.leads, token: standing.token };
  },
  take_part: (request) => {
    membersByName.set(request, takingPart(request));
    return {};
  },
  standing: (request) => standingToWire(membersByName.get(request).standing()),
  await_standing: async (request) => {
    for await (const standing of membersByName.get(request).standings(request.signal)) {
      if (standing !== undefined && (standing.lost !== undefined || isAsWanted(request, standing))) {
        return standingToWire(standing);
      }
    }
    throw new DriverError('the membership was lost before');
  },
  assign: async (request) => {
    const { signal } = request;
    const membership = membershipOf(request);
    const { group } = membership.standing;
    const assignments = request.need('assignments') as string[];
    const given = new Map(
      group.members.slice(0, assignments.length).map(({ number }, place) => [number, assignments[place] ?? '']),
    );
    await membership.assign(group, given, { signal });
    return {};
  },
  leave: async (request) => {
    await membersByName.get(request).leave();
    return {};
  },
  configure_group: async (request) => {
    const { signal } = request;
    const expectedRevision = request.revision('expected_revision');
    const config = request.get<string>('config');
    const options = { signal, ...(expectedRevision !== undefined && { expectedRevision }) };
    const revision = await clientsByName.get(request).configureGroup(request.text('group'), config, options);
    return { config_revision: revision };
  },
  get_group: async (request) => {
    const { signal } = request;
    return { group: groupToWire(await clientsByName.get(request).getGroup(request.text('group'), { signal })) };
  },
};
