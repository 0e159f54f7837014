package io.tenure.client;

import io.tenure.client.transport.Backoff;
import io.tenure.client.transport.Clock;
import io.tenure.client.transport.Connection;
import io.tenure.client.v1.AssignGroupRequest;
import io.tenure.client.v1.ErrorReason;
import io.tenure.client.v1.Group;
import io.tenure.client.v1.GroupServiceGrpc;
import io.tenure.client.v1.WatchRequest;
import io.tenure.client.v1.WatchResponse;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A membership in a group, until it is left or lost. */
public final class Membership implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(Membership.class.getName());

    private final Part part;
    private final long number;
    private final String name;
    private final Runnable listener = this::wake;
    /** The last known state: guarded by this. */
    private Group group;

    /** Follows the group of a membership that was made. */
    Membership(Part part, long number, Group group) {
        this.part = part;
        this.number = number;
        this.name = group.getName();
        this.group = group;
        part.presence().listen(listener);
        Connection.CALLBACKS.execute(this::follow);
    }

    /** The group's name. */
    public String groupName() {
        return name;
    }

    /** This member's number: rises in order of joining. */
    public long number() {
        return number;
    }

    /** The session that is the member. */
    public Session session() {
        return part.session();
    }

    /**
     * The standing of this member. Whether the membership has expired is decided by the clock at this moment: a process that was paused
     * for too long sees the loss when it resumes.
     */
    public synchronized Standing standing() {
        return new Standing(number, group, part.presence().lostReason(Clock.now()));
    }

    /** Waits until the standing is like this, or the membership is lost, and returns the standing then. */
    public Standing await(Predicate<Standing> wanted) throws InterruptedException {
        Standing seen = standing();
        while (seen.lost() == null && !wanted.test(seen)) {
            seen = changed(seen, () -> false);
        }
        return seen;
    }

    /** Waits for another standing than the last one, or until this is so. */
    synchronized Standing changed(@Nullable Standing last, BooleanSupplier isOver) throws InterruptedException {
        while (standing().equals(last) && !isOver.getAsBoolean()) {
            wait();
        }
        return standing();
    }

    synchronized void wake() {
        notifyAll();
    }

    /**
     * Assigns something to every member, as the leader of this state of the group: that of a {@link Standing} in which this member
     * leads. {@link Messages#assign} returns assignments that fit: each at most 16384 bytes, all together 1048576.
     *
     * @throws TenureException.Refused with {@code STALE_ASSIGNMENT} if the group has changed since, with {@code NOT_LEADER} if this
     *     member does not lead, with {@code INVALID_FIELD} if the assignments do not fit the members
     */
    public void assign(Group of, Map<Long, String> assignments) throws InterruptedException {
        LostReason lost = part.presence().lostReason(Clock.now());
        if (lost != null) {
            throw new TenureException.Lost(lost);
        }
        if (of.getLeader().getMember() != number) {
            throw new TenureException.Invalid("group", "this member does not lead it");
        }
        AssignGroupRequest.Builder request = AssignGroupRequest.newBuilder()
                .setGroup(name)
                .setSessionId(session().id())
                .setToken(of.getLeader().getToken())
                .setMembershipRevision(of.getMembershipRevision())
                .setConfigRevision(of.getConfigRevision())
                .putAllAssignments(assignments);
        connection().call(GroupServiceGrpc.getAssignGroupMethod(), request);
    }

    /**
     * While this member leads: computes the assignments with {@code divide}, and sends them, each time that members or config have
     * changed. Never returns: interrupt the thread to stop.
     *
     * @throws TenureException.Lost when the membership is
     * @throws TenureException.Refused for other reasons than a temporary outage, such as {@code INVALID_FIELD}
     */
    public void lead(Function<Group, Map<Long, String>> divide) throws InterruptedException {
        Backoff backoff = Backoff.ofRoles();
        Standing seen = null;
        while (true) {
            seen = changed(seen, () -> false);
            if (seen.lost() != null) {
                throw new TenureException.Lost(seen.lost());
            }
            if (!seen.leads() || seen.isCurrent()) {
                continue;
            }
            try {
                assign(seen.group(), divide.apply(seen.group()));
                backoff.reset();
            } catch (TenureException error) {
                if (error.isTransient()) {
                    LOG.log(System.Logger.Level.WARNING, "did not assign, and tries again: {0}", error.getMessage());
                    TimeUnit.NANOSECONDS.sleep(backoff.next());
                    seen = null;
                } else if (!isOvertaken(error)) {
                    throw error;
                }
            }
        }
    }

    /** Whether the group changed before the assignments arrived: the next standing shows it. */
    private static boolean isOvertaken(TenureException error) {
        return error instanceof TenureException.Refused refused
                && (refused.reason() == ErrorReason.ERROR_REASON_STALE_ASSIGNMENT
                        || refused.reason() == ErrorReason.ERROR_REASON_NOT_LEADER);
    }

    /** Updates the group by a watch, until the membership is lost. */
    private void follow() {
        WatchRequest request = WatchRequest.newBuilder().addGroups(name).build();
        Backoff backoff = Backoff.ofRoles();
        while (part.presence().lostReason(Clock.now()) == null) {
            try (Watch<WatchResponse> watch = new Watch<>(connection(), request, Optional::of)) {
                Connection.when(part.presence(), () -> part.presence().lostReason(Clock.now()))
                        .thenRun(watch::close);
                for (WatchResponse response : watch) {
                    backoff.reset();
                    update(response.getSnapshot().getGroupsList());
                    update(response.getEvents().getGroupsList());
                }
            } catch (TenureException error) {
                LOG.log(System.Logger.Level.WARNING, "the group {0} cannot be watched: {1}", name, error.getMessage());
            }
            try {
                TimeUnit.NANOSECONDS.sleep(backoff.next());
            } catch (InterruptedException stopped) {
                return;
            }
        }
    }

    private synchronized void update(List<Group> groups) {
        for (Group latest : groups) {
            // A state without this member is from before it joined, or its end is about to be reported.
            boolean isIn = latest.getMembersList().stream().anyMatch(member -> member.getNumber() == number);
            if (latest.getName().equals(name) && isIn) {
                group = latest;
                notifyAll();
            }
        }
    }

    /**
     * Leaves the group, and returns when the server has recorded it. A session that was opened for the membership is closed.
     *
     * @throws TenureException.Lost if the membership had ended before
     * @throws TenureException.Unavailable if no server answered in time: it is then repeated in the background
     */
    public void leave() throws InterruptedException {
        Obtaining.await(part.end());
    }

    /** As {@link #leave}, but errors are only logged, and an interrupt ends the wait. */
    @Override
    public void close() {
        if (part.presence().lostReason(Clock.now()) == null) {
            Session.awaitQuietly(part.end(), "the group was not left cleanly");
        } else {
            part.withdraw();
        }
    }

    private Connection connection() {
        return session().connection();
    }
}
