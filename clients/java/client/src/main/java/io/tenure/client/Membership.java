package io.tenure.client;

import io.tenure.client.internal.Backoff;
import io.tenure.client.v1.AssignGroupRequest;
import io.tenure.client.v1.GroupServiceGrpc;
import io.tenure.client.v1.LeaveGroupRequest;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Keeps this program a member of a group, until it leaves or its session ends. */
public final class Membership implements AutoCloseable {
    private final TenureClient client;
    private final Session session;
    /** Whether the session is there for this membership only. */
    private final boolean isOwn;

    private final String name;
    private final long number;
    private final Follower follower;
    private final Runnable sessionListener = this::sessionChanged;
    /** Guarded by this. */
    private Standing standing;

    private boolean hasLeft;

    Membership(TenureClient client, Session session, boolean isOwn, String name, long number, Group group) {
        this.client = client;
        this.session = session;
        this.isOwn = isOwn;
        this.name = name;
        this.number = number;
        this.standing = new Standing(number, group, null);
        this.follower = new Follower(client, this);
        session.presence().listen(sessionListener);
        follower.start();
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
        return session;
    }

    /**
     * Where this member stands. That the membership is lost because its time is over is decided by the clock at this very moment.
     */
    public Standing standing() {
        session.presence().check();
        synchronized (this) {
            return standing;
        }
    }

    /** Waits until this member stands so, or the membership is lost, and answers how it stands then. */
    public Standing await(Predicate<Standing> so) throws InterruptedException {
        while (true) {
            Standing seen = standing();
            if (seen.lost() != null || so.test(seen)) {
                return seen;
            }
            changed(seen, () -> false);
        }
    }

    /**
     * Assigns something to every member, as the leader of a group as it was seen: the one of a {@link Standing} that this member
     * leads. {@link Group#assign} makes assignments that fit. Answers the revision of the event that made them.
     *
     * @throws TenureException.Refused with {@code STALE_ASSIGNMENT} if the group has changed since, with {@code NOT_LEADER} if this
     *     is not the leader (any more), with {@code INVALID_FIELD} if the assignments do not fit the members
     */
    public long assign(Group group, Map<Long, String> assignments) throws InterruptedException {
        LostReason lost = standing().lost();
        if (lost != null) {
            throw new TenureException.Lost(lost);
        }
        Group.Leader leader = group.leader();
        if (leader == null || leader.member() != number) {
            throw new TenureException.Invalid("group", "this member does not lead it");
        }
        AssignGroupRequest request = AssignGroupRequest.newBuilder()
                .setNamespace(client.namespace())
                .setGroup(name)
                .setSessionId(leader.sessionId())
                .setToken(leader.token())
                .setMembershipRevision(group.membershipRevision())
                .setConfigRevision(group.configRevision())
                .putAllAssignments(assignments)
                .build();
        return client.calls()
                .call(GroupServiceGrpc.getAssignGroupMethod(), request)
                .getAssignmentsRevision();
    }

    /**
     * Whenever this member leads: computes with {@code divide} what each member is assigned, and assigns it, each time that members
     * or config have changed. Never returns: interrupt the thread to stop.
     *
     * @throws TenureException.Lost when the membership is
     * @throws TenureException.Refused for other reasons than a passing outage, such as {@code INVALID_FIELD}
     */
    public void lead(Function<Group, Map<Long, String>> divide) throws InterruptedException {
        Backoff backoff = Backoff.ofRounds();
        Standing seen = null;
        while (true) {
            Standing now = changed(seen, () -> false);
            seen = now;
            if (now.lost() != null) {
                throw new TenureException.Lost(now.lost());
            }
            if (now.leads() && !now.group().assignmentsCurrent()) {
                try {
                    assign(now.group(), divide.apply(now.group()));
                    backoff.reset();
                } catch (TenureException error) {
                    if (error.isTransient()) {
                        TimeUnit.NANOSECONDS.sleep(backoff.next());
                        seen = null;
                    } else if (!isOvertaken(error)) {
                        throw error;
                    }
                }
            }
        }
    }

    /** Whether the group was changed by others before the assignments came: that is told next. */
    private static boolean isOvertaken(TenureException error) {
        return error instanceof TenureException.Refused refused
                && (refused.reason() == Refusal.Reason.STALE_ASSIGNMENT
                        || refused.reason() == Refusal.Reason.NOT_LEADER);
    }

    /** As {@link #lead}, on a thread of the client. */
    CompletableFuture<Void> leadAsync(Function<Group, Map<Long, String>> divide) {
        Pending<Void> ended = new Pending<>();
        Future<?> running = client.link().callbacks().submit(() -> {
            try {
                lead(divide);
            } catch (RuntimeException | InterruptedException error) {
                ended.completeExceptionally(error);
            }
        });
        ended.onCancel(() -> running.cancel(true));
        return ended;
    }

    /** Leaves the group. A session that was opened for the membership is closed. What goes wrong is only logged. */
    @Override
    public void close() {
        if (hasLeft()) {
            return;
        }
        if (isOwn) {
            session.close();
        } else if (standing().lost() == null) {
            try {
                leave();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            } catch (TenureException error) {
                System.getLogger(Membership.class.getName())
                        .log(System.Logger.Level.WARNING, "did not leave {0} cleanly: {1}", name, error.getMessage());
            }
        }
        stop();
    }

    /**
     * Leaves the group, and returns when the server has recorded it. A session that was opened for the membership is closed.
     *
     * @throws TenureException.Refused if the membership had ended before
     */
    public void leave() throws InterruptedException {
        stop();
        LeaveGroupRequest request = LeaveGroupRequest.newBuilder()
                .setNamespace(client.namespace())
                .setGroup(name)
                .setSessionId(session.id())
                .setMember(number)
                .build();
        try {
            client.calls().call(GroupServiceGrpc.getLeaveGroupMethod(), request);
        } finally {
            lose(LostReason.of(LostReason.Kind.RELEASED));
            if (isOwn) {
                session.close();
            }
        }
    }

    private synchronized boolean hasLeft() {
        return hasLeft;
    }

    private void stop() {
        synchronized (this) {
            hasLeft = true;
        }
        follower.close();
        session.presence().forget(sessionListener);
    }

    /**
     * Waits for another standing than this one (null: takes the one that there is), or until {@code isOver}. Answers the one that
     * there is then.
     */
    synchronized Standing changed(@Nullable Standing seen, BooleanSupplier isOver) throws InterruptedException {
        while (standing == seen && !isOver.getAsBoolean()) {
            wait();
        }
        return standing;
    }

    /** Whoever waits is to look again. */
    synchronized void wake() {
        notifyAll();
    }

    /** The group is told anew. */
    synchronized void takeOver(Group group) {
        if (standing.lost() == null && !standing.group().equals(group)) {
            standing = new Standing(number, group, null);
            notifyAll();
        }
    }

    /** The membership is over. The first reason stays. */
    synchronized void lose(LostReason reason) {
        if (standing.lost() == null) {
            standing = new Standing(number, standing.group(), reason);
            notifyAll();
        }
    }

    private void sessionChanged() {
        LostReason reason = session.presence().lost();
        if (reason != null) {
            lose(reason);
            follower.close();
        }
    }
}
