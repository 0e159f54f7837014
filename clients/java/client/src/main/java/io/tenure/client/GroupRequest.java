package io.tenure.client;

import io.tenure.client.internal.Backoff;
import io.tenure.client.internal.Convert;
import io.tenure.client.v1.GroupServiceGrpc;
import io.tenure.client.v1.JoinGroupRequest;
import io.tenure.client.v1.JoinGroupResponse;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** How to take part in a group. Made by {@link TenureClient#group}. Immutable: each option answers a new one. */
public final class GroupRequest {
    private static final Logger LOG = System.getLogger(GroupRequest.class.getName());

    private final TenureClient client;
    private final String name;
    /** Null: one of its own. */
    private final @Nullable Session session;

    private final SessionOptions options;
    private final Map<String, String> metadata;

    GroupRequest(TenureClient client, String name) {
        this(client, name, null, SessionOptions.defaults(), Map.of());
    }

    private GroupRequest(
            TenureClient client,
            String name,
            @Nullable Session session,
            SessionOptions options,
            Map<String, String> metadata) {
        this.client = client;
        this.name = name;
        this.session = session;
        this.options = options;
        this.metadata = metadata;
    }

    /** Joins as a member of this session instead of one of its own: all that the session holds and joins ends together. */
    public GroupRequest inSession(Session given) {
        return new GroupRequest(client, name, given, options, metadata);
    }

    /** The options of the session that is opened for this request. No effect on a request in a session that is there already. */
    public GroupRequest session(SessionOptions those) {
        return new GroupRequest(client, name, session, those, metadata);
    }

    /** The TTL of that session: how long the others still count on this member after it was heard of last. */
    public GroupRequest ttl(Duration ttl) {
        return session(options.ttl(ttl));
    }

    /** The owner label of that session. */
    public GroupRequest owner(String owner) {
        return session(options.owner(owner));
    }

    /** All labels of the membership, such as what this member can take: at most 4096 bytes. */
    public GroupRequest metadata(Map<String, String> labels) {
        return new GroupRequest(client, name, session, options, new TreeMap<>(labels));
    }

    /**
     * Joins the group. If the session is a member already, it stays the member that it is. Any member may come to lead, and a leader
     * that assigns nothing leaves all without assignments: have {@link Membership#lead} run, unless assignments are of no use.
     */
    public Membership join() throws InterruptedException {
        Session in = session == null ? client.session(options) : session;
        try {
            JoinGroupRequest request = JoinGroupRequest.newBuilder()
                    .setNamespace(client.namespace())
                    .setGroup(name)
                    .setSessionId(in.id())
                    .putAllMetadata(metadata)
                    .build();
            JoinGroupResponse answer = client.calls().call(GroupServiceGrpc.getJoinGroupMethod(), request);
            return new Membership(
                    client, in, session == null, name, answer.getMember(), Convert.group(answer.getGroup()));
        } catch (TenureException | InterruptedException error) {
            if (session == null) {
                in.drop();
            }
            throw error;
        }
    }

    /**
     * Joins the group and stays in it: leads whenever it is this member's turn, which is computing with {@code divide} what each
     * member is assigned, each time that members or config have changed; and calls {@code told} on this thread with where this
     * member stands, at once and after each change. When the membership is lost, {@code told} is told so, and joins again, as a new
     * member. {@code divide} is called on a thread of the client, and should be quick.
     *
     * <p>Never returns: interrupt the thread to leave and stop.
     *
     * @throws TenureException what trying again cannot cure: the loss of a session that this request was given, and refusals other
     *     than those of a passing outage, such as assignments that do not fit the members
     */
    public void takePart(Function<Group, Map<Long, String>> divide, Consumer<Standing> told)
            throws InterruptedException {
        Backoff backoff = Backoff.ofRounds();
        while (true) {
            Membership membership;
            try {
                membership = join();
            } catch (TenureException error) {
                if (!mayJoinLater(error)) {
                    throw error;
                }
                LOG.log(Level.WARNING, "did not join {0}, and tries again: {1}", name, error.getMessage());
                TimeUnit.NANOSECONDS.sleep(backoff.next());
                continue;
            }
            backoff.reset();
            LostReason lost;
            try (membership) {
                lost = follow(membership, divide, told);
            }
            LOG.log(Level.WARNING, "the membership in {0} is lost: {1}", name, lost);
            if (session != null) {
                throw new TenureException.Lost(lost);
            }
        }
    }

    private static LostReason follow(
            Membership membership, Function<Group, Map<Long, String>> divide, Consumer<Standing> told)
            throws InterruptedException {
        CompletableFuture<Void> leading = membership.leadAsync(divide);
        // What ends the leading, other than the loss that is told here, ends the following.
        leading.whenComplete((never, error) -> membership.wake());
        try {
            Standing seen = null;
            while (true) {
                Standing standing = membership.changed(seen, () -> isRefused(leading));
                if (standing == seen) {
                    Pending.await(leading);
                }
                seen = standing;
                told.accept(standing);
                if (standing.lost() != null) {
                    return standing.lost();
                }
            }
        } finally {
            leading.cancel(true);
        }
    }

    private static boolean isRefused(CompletableFuture<Void> leading) {
        return leading.isCompletedExceptionally()
                && !(leading.handle((never, error) -> Pending.cause(error)).join() instanceof TenureException.Lost);
    }

    private boolean mayJoinLater(TenureException error) {
        boolean isGone = error instanceof TenureException.Lost
                || (error instanceof TenureException.Refused refused
                        && (refused.reason() == Refusal.Reason.SESSION_NOT_FOUND
                                || refused.reason() == Refusal.Reason.SESSION_ENDED));
        return error.isTransient() || (isGone && session == null);
    }
}
