// A membership: from joining to leaving or its loss.
import { isDeepStrictEqual } from 'node:util';
import { call } from '../connection/call.js';
import type { Part } from '../declare.js';
import { invalidIf, LostError, type LostReason, RefusedError, TenureError, throwIfLost } from '../error.js';
import type { Cancellable } from '../options/client.js';
import { Presence } from '../presence.js';
import type { Session } from '../session.js';
import { type Group, type GroupMember, GroupServiceDefinition } from '../v1.js';
import { Backoff, Notifier, sleep } from '../waiting.js';
import { watch } from '../watch.js';

/** Assignments of a group, by the members' numbers. Each at most 16384 bytes; all together at most 1048576. */
export type Assignments = ReadonlyMap<bigint, string>;

/** Assignments for all members: what `value` returns for each, given its index in the order of joining, from 0. */
export function assignEach(group: Group, value: (index: number, member: GroupMember) => string): Map<bigint, string> {
  return new Map(group.members.map((member, index) => [member.number, value(index, member)]));
}

/** The standing of a member in its group. */
export interface Standing {
  /** The member's number. */
  readonly number: bigint;
  /** The last known state of the group. */
  readonly group: Group;
  /** Why the membership is lost, if it is. The group may continue without this member. */
  readonly lost: LostReason | undefined;
  /** The assignment of this member. Undefined without one, and after a loss. */
  readonly assignment: string | undefined;
  /** Whether the assignment was computed from the current members and config. */
  readonly isCurrent: boolean;
  /** Whether this member leads. */
  readonly leads: boolean;
  /** The token by which this member leads, if it does. */
  readonly token: bigint | undefined;
}

/** A membership of a group, until it leaves: by `leave`, or at the end of an `await using` block. */
export class Membership extends Presence {
  /** The session that is the member. */
  readonly session: Session;
  private readonly changes = new Notifier();

  /** @internal */
  constructor(
    { session, item }: Part,
    private group: Group,
    /** This member's number: rises in order of joining. */
    readonly number: bigint,
  ) {
    super(session.connection, item);
    this.session = session;
    this.signal.addEventListener('abort', () => this.changes.notify());
    void this.follow();
  }

  /** The standing of this member. Whether the membership has expired is decided by the clock at this moment. */
  get standing(): Standing {
    const { number, group, lostReason: lost } = this;
    const leads = !lost && group.leader?.member === number;
    const member = lost ? undefined : group.members.find((member) => member.number === number);
    return {
      number,
      group,
      lost,
      assignment: member?.assignment,
      isCurrent: !lost && group.assignmentsCurrent,
      leads,
      token: leads ? group.leader?.token : undefined,
    };
  }

  /** The standing of this member, now and after each change, until the loss. A slow reader sees only the latest. */
  async *standings({ signal }: Cancellable = {}): AsyncGenerator<Standing, void, undefined> {
    for (let last: Standing | undefined; !last?.lost;) {
      const { standing } = this;
      if (standing.group === last?.group && !standing.lost) {
        await Notifier.wait([this.changes], Infinity, signal);
      } else {
        last = standing;
        yield standing;
      }
    }
  }

  /**
   * Assigns something to every member, as the leader of this state of the group: `group` is that of a standing in which this member
   * leads. Rejected with `STALE_ASSIGNMENT` if the group has changed since, with `NOT_LEADER` if this member does not lead, with
   * `INVALID_FIELD` if the assignments do not fit the members.
   */
  async assign(group: Group, assignments: Assignments, options?: Cancellable): Promise<void> {
    throwIfLost(this.lostReason);
    const { name, leader, membershipRevision, configRevision } = group;
    invalidIf(leader?.member !== this.number, 'group', 'this member does not lead it');
    const revisions = { membershipRevision, configRevision };
    const key = { group: name, sessionId: this.session.id, token: leader!.token };
    const request = { ...key, ...revisions, assignments: new Map(assignments) };
    await call(this.connection, GroupServiceDefinition, 'assignGroup', request, options);
  }

  /**
   * While this member leads: computes the assignments with `divide`, and sends them, each time that members or config have changed.
   * `assignEach` makes assignments that fit.
   *
   * Ends only by rejecting: with the signal's reason, with `LostError` when the membership is lost, and with rejections other than those
   * of a temporary outage.
   */
  async lead(divide: (group: Group) => Assignments, { signal }: Cancellable = {}): Promise<never> {
    const backoff = Backoff.ofRoles();
    for await (const { leads, group } of this.standings({ signal })) {
      while (leads && !group.assignmentsCurrent && this.group === group && this.isValid) {
        try {
          await this.assign(group, divide(group), { signal });
          backoff.reset();
          break;
        } catch (error) {
          if (error instanceof RefusedError && ['STALE_ASSIGNMENT', 'NOT_LEADER'].includes(error.reason)) {
            // The group has changed meanwhile: the next standing shows it.
            break;
          }
          if (!(error instanceof TenureError) || !error.isTransient) {
            throw error;
          }
          await sleep(backoff.nextPause(), signal);
        }
      }
    }
    throw new LostError(await this.lost());
  }

  /**
   * Leaves the group, and waits until the server has recorded it. A session that was opened for the membership is closed. Rejects with
   * `LostError` if the membership had ended before; with `UnavailableError` if no server answered in time.
   */
  leave(): Promise<void> {
    return this.end();
  }

  /** Keeps the group up to date by a watch, until the membership is over. */
  private async follow(): Promise<void> {
    const { name } = this.group;
    const backoff = Backoff.ofRoles();
    while (!this.signal.aborted) {
      try {
        for await (const { kind } of watch(this.connection, { groups: [name] }, this.signal)) {
          backoff.reset();
          const isState = kind?.$case === 'snapshot' || kind?.$case === 'events';
          const group = isState ? kind.value.groups.find((group) => group.name === name) : undefined;
          // A state without this member is from before it joined, or its end is about to be reported.
          const isMember = group?.members.some(({ number }) => number === this.number);
          if (group && isMember && !isDeepStrictEqual(group, this.group)) {
            this.group = group;
            this.changes.notify();
          }
        }
      } catch {
        // It cannot be watched at present.
      }
      await sleep(backoff.nextPause(), this.signal).catch(() => undefined);
    }
  }
}
