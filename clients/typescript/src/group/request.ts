// A program's part in a group.
import type { Client } from '../client.js';
import { LostError, RefusedError, TenureError } from '../errors.js';
import { sleep } from '../latest.js';
import { campaignBackoff } from '../link/backoff.js';
import type { Place } from '../lock.js';
import type { Group, Metadata } from '../model.js';
import type { Cancellable } from '../options.js';
import type { Assignments } from './calls.js';
import { Membership } from './membership.js';
import type { Standing } from './standing.js';

export interface GroupOptions {
  /** Free labels on the membership, such as what this member can take: at most 4096 bytes. Default: none. */
  metadata?: Metadata;
}

/** How to take part in a group. */
export class GroupRequest {
  /** @internal */
  constructor(
    private readonly client: Client,
    private readonly place: Place,
    private readonly isOwn: boolean,
    private readonly name: string,
    private readonly options: GroupOptions,
  ) {}

  /**
   * Joins the group. If the session is a member already, it stays the member that it is. Any member may come to lead, and a
   * leader that assigns nothing leaves all without assignments: have `lead` of the membership run, unless assignments are of
   * no use to the group.
   */
  async join({ signal }: Cancellable = {}): Promise<Membership> {
    const { session, isOwn } = await this.place(signal);
    try {
      const { metadata = {} } = this.options;
      const { number, group } = await this.client.joinGroup(this.name, session.id, metadata, signal);
      return new Membership(session, isOwn, number, group);
    } catch (error) {
      if (isOwn) {
        session.drop();
      }
      throw error;
    }
  }

  /**
   * Joins the group and stays in it: leads whenever it is this member's turn, which is computing with `divide` what each
   * member is assigned; and calls `told` with where this member stands, at once and after each change. When the membership is
   * lost, `told` is told so, and joins again, as a new member.
   *
   * Ends only by rejecting: with the signal's reason, having left; with what trying again cannot cure, as for `lead`; with the
   * loss of a session that this request was given.
   */
  async takePart(
    divide: (group: Group) => Assignments,
    told: (standing: Standing) => void,
    { signal }: Cancellable = {},
  ): Promise<never> {
    const backoff = campaignBackoff();
    for (;;) {
      signal?.throwIfAborted();
      let membership: Membership;
      try {
        membership = await this.join({ signal });
      } catch (error) {
        if (!this.mayJoinLater(error)) {
          throw error;
        }
        await sleep(backoff.nextPause(), signal);
        continue;
      }
      backoff.reset();
      await this.takePartAs(membership, divide, told, signal);
    }
  }

  /** As one member, until the membership is lost. */
  private async takePartAs(
    membership: Membership,
    divide: (group: Group) => Assignments,
    told: (standing: Standing) => void,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const following = (async () => {
      for await (const standing of membership.standings({ signal })) {
        told(standing);
      }
    })();
    try {
      await Promise.all([following, membership.lead(divide, { signal })]);
    } catch (error) {
      if (!(error instanceof LostError) || !this.isOwn) {
        throw error;
      }
      await following;
    } finally {
      await membership[Symbol.asyncDispose]();
    }
  }

  private mayJoinLater(error: unknown): boolean {
    if (!(error instanceof TenureError)) {
      return false;
    }
    const isGone = error instanceof RefusedError && ['SESSION_NOT_FOUND', 'SESSION_ENDED'].includes(error.reason);
    return error.isTransient || (this.isOwn && !this.client.link.isClosed && (isGone || error instanceof LostError));
  }
}
