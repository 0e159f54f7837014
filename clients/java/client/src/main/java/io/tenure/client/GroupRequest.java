package io.tenure.client;

import io.tenure.client.transport.Backoff;
import io.tenure.client.transport.Connection;
import io.tenure.client.v1.Declaration;
import io.tenure.client.v1.DeclaredMembership;
import io.tenure.client.v1.ErrorReason;
import io.tenure.client.v1.Group;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;

/** A request for a membership in a group. Made by {@link TenureClient#group} and {@link Session#group}. */
public final class GroupRequest extends Request<GroupRequest> {
    private static final Logger LOG = System.getLogger(GroupRequest.class.getName());

    private final DeclaredMembership membership;

    GroupRequest(Target target, String group) {
        this(target, DeclaredMembership.newBuilder().setGroup(group).build());
    }

    private GroupRequest(Target target, DeclaredMembership membership) {
        super(target);
        this.membership = membership;
    }

    @Override
    GroupRequest with(Target changed) {
        return new GroupRequest(changed, membership);
    }

    /** All labels of the membership, such as its capacity: at most 4096 bytes. */
    public GroupRequest metadata(Map<String, String> labels) {
        return new GroupRequest(
                target,
                membership.toBuilder().clearMetadata().putAllMetadata(labels).build());
    }

    /**
     * Joins the group. A session joins a group once: {@code Refused} with {@code MEMBERSHIP_OVERLAP} if it is a member already.
     *
     * <p>Any member may become the leader, and while a leader assigns nothing, no member has an assignment: run {@link Membership#lead},
     * unless the group uses no assignments.
     */
    public Membership join() throws InterruptedException {
        Declaration declaration =
                Declaration.newBuilder().addMemberships(membership).build();
        record Joined(Part part, long number) {}
        Joined joined = Obtaining.await(new Obtaining<>(target, declaration, null, Duration.ZERO, Joined::new, busy -> {
            throw new TenureException.Unavailable("the membership did not begin");
        }));
        try {
            Group group = new TenureClient(target.connection()).getGroup(membership.getGroup());
            return new Membership(joined.part, joined.number, group);
        } catch (TenureException | InterruptedException error) {
            joined.part.withdraw();
            throw error;
        }
    }

    /**
     * Joins the group and remains in it. While this member leads, it computes the assignments with {@code divide}, on a thread of the
     * client, each time that members or config have changed. Calls {@code onChange} on this thread with the member's standing, at once
     * and after each change. When the membership is lost, calls {@code onChange} with the loss, and joins again, as a new member.
     *
     * <p>Never returns: interrupt the thread to leave and stop. Both functions should be quick.
     *
     * @throws TenureException errors that a retry cannot fix: the loss of a session that this request was given, and refusals other than
     *     those of a temporary outage, such as assignments that do not fit the members
     */
    public void takePart(Function<Group, Map<Long, String>> divide, Consumer<Standing> onChange)
            throws InterruptedException {
        Backoff backoff = Backoff.ofRoles();
        while (true) {
            LostReason lost;
            try (Membership joined = join()) {
                backoff.reset();
                lost = follow(joined, divide, onChange);
            } catch (TenureException error) {
                if (!mayJoinLater(error)) {
                    throw error;
                }
                LOG.log(
                        Level.WARNING,
                        "did not join {0}, and tries again: {1}",
                        membership.getGroup(),
                        error.getMessage());
                TimeUnit.NANOSECONDS.sleep(backoff.next());
                continue;
            }
            LOG.log(Level.WARNING, "the membership in {0} is lost: {1}", membership.getGroup(), lost);
            if (target.session() != null) {
                throw new TenureException.Lost(lost);
            }
        }
    }

    private static LostReason follow(
            Membership joined, Function<Group, Map<Long, String>> divide, Consumer<Standing> onChange)
            throws InterruptedException {
        Callable<String> lead = () -> {
            joined.lead(divide);
            return joined.groupName();
        };
        FutureTask<String> leading = new FutureTask<>(lead) {
            @Override
            protected void done() {
                joined.wake();
            }
        };
        Connection.CALLBACKS.execute(leading);
        try {
            Standing seen = null;
            while (true) {
                Standing standing = joined.changed(seen, leading::isDone);
                if (!standing.equals(seen)) {
                    onChange.accept(standing);
                }
                if (standing.lost() != null) {
                    return standing.lost();
                }
                if (leading.isDone()) {
                    leading.get();
                }
                seen = standing;
            }
        } catch (ExecutionException error) {
            throw error.getCause() instanceof TenureException known
                    ? known
                    : new IllegalStateException(error.getCause());
        } finally {
            leading.cancel(true);
        }
    }

    private boolean mayJoinLater(TenureException error) {
        boolean isGone = error instanceof TenureException.Lost
                || (error instanceof TenureException.Refused refused
                        && (refused.reason() == ErrorReason.ERROR_REASON_SESSION_NOT_FOUND
                                || refused.reason() == ErrorReason.ERROR_REASON_SESSION_ENDED));
        return error.isTransient() || (isGone && target.session() == null);
    }
}
