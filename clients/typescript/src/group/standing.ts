// Where a member stands in its group.
import type { LostReason } from '../errors.js';
import type { Group, GroupMember } from '../model.js';

export class Standing {
  /** @internal */
  constructor(
    /** The member's number. */
    readonly number: bigint,
    /** The group, as it was heard of last. */
    readonly group: Group,
    /** Why the membership is lost, if it is. The others may go on without this member. */
    readonly lost: LostReason | undefined,
  ) {}

  /** What is assigned to this member. Undefined if nothing is, and after a loss. */
  get assignment(): string | undefined {
    return this.lost === undefined ? memberIn(this.group, this.number)?.assignment : undefined;
  }

  /** Whether that is the assignment for the members and the config that are there now. */
  get isCurrent(): boolean {
    return this.lost === undefined && this.group.assignmentsCurrent;
  }

  /** Whether this member leads. */
  get leads(): boolean {
    return this.token !== undefined;
  }

  /** The token by which this member leads, if it does. */
  get token(): bigint | undefined {
    const { leader } = this.group;
    return this.lost === undefined && leader?.member === this.number ? leader.token : undefined;
  }
}

/** The member of this number. */
export function memberIn(group: Group, number: bigint): GroupMember | undefined {
  return group.members.find((member) => member.number === number);
}

/** Assignments for all members: what `value` says of each, given its place in the order of joining, from 0. */
export function assignEach(group: Group, value: (place: number, member: GroupMember) => string): Map<bigint, string> {
  return new Map(group.members.map((member, place) => [member.number, value(place, member)]));
}
