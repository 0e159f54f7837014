// Groups: how to join one.
import { call } from '../connection/call.js';
import { obtain, type Target } from '../declare.js';
import { LostError, RefusedError, TenureError, UnavailableError } from '../error.js';
import type { Cancellable } from '../options/client.js';
import type { Metadata } from '../options/session.js';
import { DeclaredMembership, type Group, GroupServiceDefinition } from '../v1.js';
import { Backoff, sleep } from '../waiting.js';
import { type Assignments, Membership, type Standing } from './membership.js';

/** What to join with. */
export interface GroupOptions {
  /** Labels on the membership, such as its capacity: at most 4096 bytes. Default: none. */
  metadata?: Metadata;
}

/** How to join a group. */
export class GroupRequest {
  /** @internal */
  constructor(
    private readonly target: Target,
    private readonly group: string,
    private readonly options: GroupOptions,
  ) {}

  /**
   * Joins the group. A session joins a group once: rejected with `MEMBERSHIP_OVERLAP` if it is a member already.
   *
   * Any member may become the leader, and while a leader assigns nothing, no member has an assignment: run `lead` of the membership,
   * unless the group uses no assignments.
   */
  async join({ signal }: Cancellable = {}): Promise<Membership> {
    const { metadata = {} } = this.options;
    const memberships = [DeclaredMembership.fromPartial({ group: this.group, metadata })];
    const obtained = await obtain(this.target, { memberships }, { waitMs: 0, signal });
    if (!obtained.part) {
      throw new UnavailableError('the membership did not begin');
    }
    const { part, number } = obtained;
    try {
      const request = { group: this.group };
      const { group } = await call(this.target.connection, GroupServiceDefinition, 'getGroup', request, { signal });
      return new Membership(part, group!, number);
    } catch (error) {
      this.target.connection.withdraw(part.item);
      throw error;
    }
  }

  /**
   * Joins the group and remains in it. While this member leads, it computes the assignments with `divide`, each time that members or
   * config have changed. Calls `onChange` with the member's standing, at once and after each change. When the membership is lost, calls
   * `onChange` with the loss, and joins again, as a new member.
   *
   * Ends only by rejecting: with the signal's reason, having left; with errors that a retry cannot fix, as `lead` of a membership; and
   * with the loss of a session that this request was given.
   */
  async takePart(
    divide: (group: Group) => Assignments,
    onChange: (standing: Standing) => void,
    { signal }: Cancellable = {},
  ): Promise<never> {
    const backoff = Backoff.ofRoles();
    for (;;) {
      let membership: Membership | undefined;
      try {
        membership = await this.join({ signal });
        backoff.reset();
        await Promise.all([report(membership, onChange, signal), membership.lead(divide, { signal })]);
      } catch (error) {
        if (!this.mayJoinLater(error)) {
          throw error;
        }
      } finally {
        await membership?.[Symbol.asyncDispose]();
      }
      await sleep(backoff.nextPause(), signal);
    }
  }

  private mayJoinLater(error: unknown): boolean {
    if (!(error instanceof TenureError)) {
      return false;
    }
    const isGone = error instanceof RefusedError && ['SESSION_NOT_FOUND', 'SESSION_ENDED'].includes(error.reason);
    return error.isTransient || (!this.target.session && (isGone || error instanceof LostError));
  }
}

async function report(
  membership: Membership,
  onChange: (standing: Standing) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  for await (const standing of membership.standings({ signal })) {
    onChange(standing);
  }
}
