// What anybody may ask of groups, each a plain call.
import { groupOf } from '../convert.js';
import { GroupServiceService as groups } from '../generated/tenure/v1/group.js';
import type { Group, GroupLeader, Metadata } from '../model.js';
import { Operations } from '../operate.js';
import { pages } from '../calls.js';
import type { Cancellable } from '../options.js';

/** What is assigned to each member of a group, by the members' numbers. Each at most 16384 bytes; together at most 1 MiB. */
export type Assignments = ReadonlyMap<bigint, string>;

export abstract class GroupCalls extends Operations {
  /** Reads one group. A group that nobody ever joined is an empty group, not an error. */
  async getGroup(name: string, { signal }: Cancellable = {}): Promise<Group> {
    const { group } = await this.ask(groups.getGroup, { group: name }, { isSafe: true, signal });
    return groupOf(group as NonNullable<typeof group>);
  }

  /** The groups that have members or a config and whose names begin with `prefix` (empty: all), in byte order. */
  listGroups(prefix = '', { signal }: Cancellable = {}): AsyncGenerator<Group, void, undefined> {
    return pages(async (pageToken) => {
      const request = { prefix, pageSize: 0, pageToken };
      const page = await this.ask(groups.listGroups, request, { isSafe: true, signal });
      return { items: page.groups.map(groupOf), nextPageToken: page.nextPageToken };
    });
  }

  /**
   * Sets the value that a group shares, or clears it with undefined, and answers the revision of the event that set it (0 if
   * there is none). With `expectedRevision` only if that is the revision of the config that is there, 0 for none: refused
   * with `CONFIG_CONFLICT` otherwise. Needs neither a session nor members.
   */
  async configureGroup(
    name: string,
    config: string | undefined,
    { expectedRevision, signal }: Cancellable & { expectedRevision?: bigint } = {},
  ): Promise<bigint> {
    // Done twice, the second would find what the first has set, and not what is expected.
    const call = { isSafe: expectedRevision === undefined, signal };
    return (await this.ask(groups.configureGroup, { group: name, config, expectedRevision }, call)).configRevision;
  }

  /** Makes a session a member. Answers its number, and the group. @internal */
  async joinGroup(
    name: string,
    sessionId: string,
    metadata: Metadata,
    signal: AbortSignal | undefined,
  ): Promise<{ number: bigint; group: Group }> {
    const labels = new Map(Object.entries(metadata));
    const request = { group: name, sessionId, ttl: undefined, owner: '', metadata: labels, openedRevision: 0n };
    const { member, group } = await this.ask(groups.joinGroup, request, { isSafe: true, signal });
    return { number: member, group: groupOf(group as NonNullable<typeof group>) };
  }

  /** @internal */
  async leaveGroup(name: string, sessionId: string, member: bigint): Promise<void> {
    await this.ask(groups.leaveGroup, { group: name, sessionId, member }, { isSafe: true });
  }

  /** Assigns on behalf of a leader what was computed from a group as it was. Answers the revision. @internal */
  async assignGroup(
    group: Group,
    { sessionId, token }: GroupLeader,
    assignments: Assignments,
    signal: AbortSignal | undefined,
  ): Promise<bigint> {
    const { name, membershipRevision, configRevision } = group;
    const request = {
      group: name,
      sessionId,
      token,
      membershipRevision,
      configRevision,
      assignments: new Map(assignments),
    };
    return (await this.ask(groups.assignGroup, request, { isSafe: true, signal })).assignmentsRevision;
  }
}
