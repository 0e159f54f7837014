// A membership: from joining to leaving or its loss.
import { isDeepStrictEqual } from 'node:util';
import type { LostReason } from '../errors.js';
import { ClosedError, InvalidError, LostError, RefusedError, TenureError } from '../errors.js';
import { Latest, sleep } from '../latest.js';
import { campaignBackoff } from '../link/backoff.js';
import type { Group } from '../model.js';
import type { Cancellable } from '../options.js';
import type { Session } from '../session.js';
import type { Assignments } from './calls.js';
import { memberIn, Standing } from './standing.js';

/** Keeps this program a member of a group, until it leaves: by `leave`, or at the end of an `await using` block. */
export class Membership implements AsyncDisposable {
  private readonly current: Latest<Standing>;
  private readonly over = new AbortController();

  /** @internal */
  constructor(
    /** The session that is the member. */
    readonly session: Session,
    /** Whether the session is there for this membership only. */
    private readonly isOwn: boolean,
    /** This member's number: rises in order of joining. */
    readonly number: bigint,
    group: Group,
  ) {
    this.current = new Latest(new Standing(number, group, undefined));
    session.lost({ signal: this.over.signal }).then(
      (lost) => this.lose(lost),
      () => undefined,
    );
    void this.follow(group.name);
  }

  /**
   * Where this member stands. That the membership is lost because its time is over is decided by the clock at this very
   * moment.
   */
  get standing(): Standing {
    const lost = this.session.lostReason;
    if (lost !== undefined) {
      this.lose(lost);
    }
    return this.current.value;
  }

  /** Where this member stands, now and after each change, up to the loss. Who is slow sees the latest. */
  standings({ signal }: Cancellable = {}): AsyncGenerator<Standing, void, undefined> {
    return this.current.values(({ lost }) => lost !== undefined, signal);
  }

  /** What is assigned to this member, now and after each change; undefined while nothing is. Ends with the membership. */
  async *assignments(options?: Cancellable): AsyncGenerator<string | undefined, void, undefined> {
    let told: { assignment: string | undefined } | undefined;
    for await (const { lost, assignment } of this.standings(options)) {
      if (lost === undefined && (told === undefined || told.assignment !== assignment)) {
        told = { assignment };
        yield assignment;
      }
    }
  }

  /** Waits until the membership is lost: before the others could be told so, or as soon as the server says it. */
  async lost({ signal }: Cancellable = {}): Promise<LostReason> {
    const { lost } = await this.current.until(({ lost }) => lost !== undefined, signal);
    return lost as LostReason;
  }

  /**
   * Assigns something to every member, as the leader of a group as it was seen: `group` is the one of a standing that this
   * member leads. Answers the revision. Refused with `STALE_ASSIGNMENT` if the group has changed since, with `NOT_LEADER` if
   * this is not the leader any more, with `INVALID_FIELD` if the assignments do not fit the members.
   */
  async assign(group: Group, assignments: Assignments, { signal }: Cancellable = {}): Promise<bigint> {
    const { lost } = this.standing;
    if (lost !== undefined) {
      throw new LostError(lost);
    }
    const { leader } = group;
    if (leader?.member !== this.number) {
      throw new InvalidError('group', 'this member does not lead it');
    }
    return this.session.client.assignGroup(group, leader, assignments, signal);
  }

  /**
   * Whenever this member leads: computes with `divide` what each member is assigned, and assigns it, each time that members or
   * config have changed. `assignEach` makes assignments that fit.
   *
   * Ends only by rejecting: with the signal's reason, with `LostError` when the membership is lost, and with refusals other
   * than those of a passing outage.
   */
  async lead(divide: (group: Group) => Assignments, { signal }: Cancellable = {}): Promise<never> {
    const backoff = campaignBackoff();
    for await (const { lost, leads, group } of this.standings({ signal })) {
      if (lost !== undefined) {
        throw new LostError(lost);
      }
      while (leads && !group.assignmentsCurrent && this.current.value.group === group) {
        try {
          await this.assign(group, divide(group), { signal });
          backoff.reset();
          break;
        } catch (error) {
          if (isOvertaken(error)) {
            // What has changed is told next.
            break;
          }
          if (!(error instanceof TenureError) || !error.isTransient) {
            throw error;
          }
          await sleep(backoff.nextPause(), signal);
        }
      }
    }
    throw new ClosedError();
  }

  /** Sets the value that the group shares: see `configureGroup` of the client. */
  setConfig(config: string | undefined, options?: Cancellable & { expectedRevision?: bigint }): Promise<bigint> {
    return this.session.client.configureGroup(this.current.value.group.name, config, options);
  }

  /**
   * Leaves the group, and resolves when the server has recorded it. A session that was opened for the membership is closed.
   * Rejects with `RefusedError` if the membership had ended before; with `UnavailableError` if no server answered in time.
   */
  async leave(): Promise<void> {
    try {
      await this.session.client.leaveGroup(this.current.value.group.name, this.session.id, this.number);
    } finally {
      this.lose({ reason: 'released' });
      if (this.isOwn) {
        await this.session.close().catch(() => undefined);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.standing.lost === undefined) {
      await this.leave().catch(() => undefined);
    }
  }

  private lose(lost: LostReason): void {
    const { group, lost: before } = this.current.value;
    if (before === undefined) {
      this.current.set(new Standing(this.number, group, lost));
      this.over.abort();
      if (this.isOwn && lost.reason !== 'released') {
        this.session.drop();
      }
    }
  }

  /** Takes over what the watch tells, until the membership is over. */
  private async follow(name: string): Promise<void> {
    const { signal } = this.over;
    const backoff = campaignBackoff();
    while (!signal.aborted && !this.session.link.isClosed) {
      try {
        for await (const item of this.session.client.watch({ groups: [name] }, { signal })) {
          backoff.reset();
          if (item.kind === 'events') {
            for (const { kind, member, endReason } of item.groupEvents) {
              if (kind === 'left' && member?.number === this.number && endReason !== undefined) {
                this.lose({ reason: 'ended', endReason });
              }
            }
          }
          if (item.kind === 'events' || item.kind === 'snapshot') {
            this.takeOver(item.groups.find((group) => group.name === name));
          }
        }
      } catch {
        await sleep(backoff.nextPause(), signal).catch(() => undefined);
      }
    }
  }

  private takeOver(group: Group | undefined): void {
    const { group: before, lost } = this.current.value;
    if (group === undefined || lost !== undefined) {
      return;
    }
    if (memberIn(group, this.number) === undefined) {
      this.lose({ reason: 'forgotten' });
    } else if (!isDeepStrictEqual(group, before)) {
      this.current.set(new Standing(this.number, group, undefined));
    }
  }
}

/** Whether the group was changed by others before the assignments came. */
function isOvertaken(error: unknown): boolean {
  return error instanceof RefusedError && ['STALE_ASSIGNMENT', 'NOT_LEADER'].includes(error.reason);
}
