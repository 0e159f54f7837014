package io.tenure.client;

import com.google.protobuf.Message;
import io.grpc.MethodDescriptor;
import io.tenure.client.transport.Connection;
import io.tenure.client.v1.Claim;
import io.tenure.client.v1.ConfigureGroupRequest;
import io.tenure.client.v1.ConfigureLockRequest;
import io.tenure.client.v1.Declaration;
import io.tenure.client.v1.EvictRequest;
import io.tenure.client.v1.GetGroupRequest;
import io.tenure.client.v1.GetLockRequest;
import io.tenure.client.v1.Group;
import io.tenure.client.v1.GroupServiceGrpc;
import io.tenure.client.v1.HistoryEntry;
import io.tenure.client.v1.ListHistoryRequest;
import io.tenure.client.v1.ListLocksRequest;
import io.tenure.client.v1.ListSessionsRequest;
import io.tenure.client.v1.Lock;
import io.tenure.client.v1.LockServiceGrpc;
import io.tenure.client.v1.SessionServiceGrpc;
import io.tenure.client.v1.TransferRequest;
import io.tenure.client.v1.WatchRequest;
import io.tenure.client.v1.WatchResponse;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A client of the service, for one namespace. It connects in the background, to one server at a time, and fails over to the next;
 * sessions, their holds, and their places in queues remain.
 *
 * <p>All calls may throw {@link TenureException}: {@link TenureException.Unavailable} if no server answered in time, {@link
 * TenureException.Refused} if one refused, {@link TenureException.Closed} after the client was closed. Requests and replies of reads and
 * operators' calls are the contract's messages; the client sets the namespace in them.
 */
public final class TenureClient implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(TenureClient.class.getName());
    /** The contract's default of {@code TransferRequest.drain}. */
    private static final Duration DEFAULT_DRAIN = Duration.ofSeconds(10);

    private final Connection connection;

    TenureClient(Connection connection) {
        this.connection = connection;
    }

    /**
     * A client with these options. Returns at once; calls wait for a connection, each until its deadline.
     *
     * @throws TenureException.Invalid if an endpoint is no URL, the namespace is invalid, a timeout is not more than zero, a file cannot
     *     be read, options contradict each other, or a token would be sent in plaintext
     */
    public static TenureClient connect(ClientOptions options) {
        return new TenureClient(options.connect());
    }

    /** A client for these endpoints: URLs separated by commas. */
    public static TenureClient connect(String endpoints) {
        return connect(ClientOptions.defaults().endpoints(ClientOptions.split(endpoints)));
    }

    /** A client with the options of {@link ClientOptions#fromEnvironment}. */
    public static TenureClient fromEnvironment() {
        return connect(ClientOptions.fromEnvironment());
    }

    /** The namespace of this client. */
    public String namespace() {
        return connection.namespace();
    }

    /** Opens a session, which is then renewed in the background. */
    public Session session(SessionOptions options) throws InterruptedException {
        Target target = target().with(options);
        return Obtaining.await(new Obtaining<>(
                target,
                Declaration.getDefaultInstance(),
                null,
                Duration.ZERO,
                (part, opened) -> part.session(),
                busy -> {
                    throw new TenureException.Unavailable("the session was not opened");
                }));
    }

    /** Requests a lock in a session of its own, which ends with the guard: see {@link LockRequest}. */
    public LockRequest lock(String name) {
        return locks(List.of(name));
    }

    /** Requests several locks at once, all or nothing, with one token: 1 to 16 different names. */
    public LockRequest locks(List<String> names) {
        return new LockRequest(target(), names);
    }

    /** A candidacy in an election. */
    public Election election(String name) {
        return new Election(name, lock(name), null);
    }

    /** Requests a membership in a group, in a session of its own, which ends with the membership: see {@link GroupRequest}. */
    public GroupRequest group(String name) {
        return new GroupRequest(target(), name);
    }

    /** Watches locks and groups: with neither names nor prefixes nor groups, all locks. Begins with the first read. */
    public Watch<WatchResponse> watch(WatchRequest request) {
        return new Watch<>(connection, request, Optional::of);
    }

    /** Reads one lock. A lock that was never requested is an idle lock, not an error. */
    public Lock getLock(String name) throws InterruptedException {
        return call(
                        LockServiceGrpc.getGetLockMethod(),
                        GetLockRequest.newBuilder().setName(name))
                .getLock();
    }

    /**
     * The locks that are held or waited for and whose names begin with {@code prefix} (empty: all), in byte order of their names. Like
     * all lists, it is requested page by page, the first page at once; each page is consistent at a revision of its own.
     */
    public Stream<Lock> listLocks(String prefix) {
        ListLocksRequest.Builder request = ListLocksRequest.newBuilder().setPrefix(prefix);
        return list(LockServiceGrpc.getListLocksMethod(), request, page -> page.getLocksList());
    }

    /** The holds of a lock, as far back as history is kept: current holds first, then ended ones, the last end first. */
    public Stream<HistoryEntry> history(String name) {
        ListHistoryRequest.Builder request = ListHistoryRequest.newBuilder().setName(name);
        return list(LockServiceGrpc.getListHistoryMethod(), request, page -> page.getEntriesList());
    }

    /** The open sessions, oldest first. */
    public Stream<io.tenure.client.v1.Session> listSessions() {
        ListSessionsRequest.Builder request = ListSessionsRequest.newBuilder();
        return list(SessionServiceGrpc.getListSessionsMethod(), request, page -> page.getSessionsList());
    }

    /**
     * Ends the hold of a lock against its holder's will, and returns the ended claims: every hold, or only the one with the token of the
     * request. For operators; recorded in history. After {@code Unavailable} it may or may not have taken effect, unless a token was
     * given.
     */
    public List<Claim> evict(EvictRequest request) throws InterruptedException {
        // Without a token a second attempt could evict the next holder.
        boolean isSafe = request.getToken() != 0;
        return connection
                .call(LockServiceGrpc.getEvictMethod(), request.toBuilder(), isSafe, Duration.ZERO)
                .getEvictedList();
    }

    /**
     * Hands a lock over to a waiter: the holder is asked to stop, and confirms by releasing. Returns when the handoff is complete, with
     * the new hold. For operators; recorded in history. The lock has a holder at every moment.
     *
     * @throws TenureException.Refused with {@code TRANSFER_IMPOSSIBLE} (no holder, no waiter, ...), {@code TRANSFER_PENDING}, or
     *     {@code TRANSFER_NOT_CONFIRMED} if the holder did not stop in time, and keeps the lock
     */
    public Claim transfer(TransferRequest request) throws InterruptedException {
        Duration drain = Duration.ofSeconds(
                request.getDrain().getSeconds(), request.getDrain().getNanos());
        Duration wait = request.hasDrain() ? drain : DEFAULT_DRAIN;
        // Without a token a second attempt could make the next holder hand over.
        boolean isSafe = request.getToken() != 0;
        return connection
                .call(LockServiceGrpc.getTransferMethod(), request.toBuilder(), isSafe, wait)
                .getClaim();
    }

    /**
     * Sets the settings of a lock, in place of the previous ones. Holders keep what they hold; waiters that request more permits than
     * the new limit are ended. For operators; recorded in history.
     */
    public Lock configureLock(ConfigureLockRequest request) throws InterruptedException {
        return call(LockServiceGrpc.getConfigureLockMethod(), request.toBuilder())
                .getLock();
    }

    /** Reads one group. A group that was never joined is an empty group, not an error. */
    public Group getGroup(String name) throws InterruptedException {
        return call(
                        GroupServiceGrpc.getGetGroupMethod(),
                        GetGroupRequest.newBuilder().setGroup(name))
                .getGroup();
    }

    /**
     * Sets the config of a group, or clears it with null, and returns the revision of the event that set it (0 if there is none).
     *
     * @param expected only if that is the revision of the current config; 0: only if there is no config; null: in any case
     * @throws TenureException.Refused with {@code CONFIG_CONFLICT} if the config is not the expected one
     */
    public long configureGroup(String name, @Nullable String config, @Nullable Long expected)
            throws InterruptedException {
        ConfigureGroupRequest.Builder request =
                ConfigureGroupRequest.newBuilder().setGroup(name);
        if (config != null) {
            request.setConfig(config);
        }
        if (expected != null) {
            request.setExpectedRevision(expected);
        }
        // A repeated call would find the config of the first one instead of the expected one.
        return connection
                .call(GroupServiceGrpc.getConfigureGroupMethod(), request, expected == null, Duration.ZERO)
                .getConfigRevision();
    }

    /**
     * Makes any other call of the contract with one reply, as with {@code SessionServiceGrpc.getGetSessionMethod()}: in the namespace of
     * this client, and repeated until the deadline of a call, at other servers if need be. So it must be idempotent.
     *
     * @param request a builder of the method's request
     */
    public <Q, A> A call(MethodDescriptor<Q, A> method, Message.Builder request) throws InterruptedException {
        return connection.call(method, request);
    }

    /**
     * Closes all sessions of this client and ends its connection, so that its locks are free at once. Waits for that for the time of a
     * call, even if the thread is interrupted. If no server answers, which is only logged, the sessions end by their TTLs.
     */
    @Override
    public void close() {
        if (!connection.shutDown()) {
            LOG.log(System.Logger.Level.WARNING, "no server has closed the sessions of the client in time");
        }
    }

    private Target target() {
        return new Target(connection, null);
    }

    private <Q, A extends Message, T> Stream<T> list(
            MethodDescriptor<Q, A> method, Message.Builder request, Function<A, List<T>> items) {
        return Stream.iterate(page(method, request), Objects::nonNull, page -> {
                    Object next = page.getField(page.getDescriptorForType().findFieldByName("next_page_token"));
                    request.setField(request.getDescriptorForType().findFieldByName("page_token"), next);
                    return next.equals("") ? null : page(method, request);
                })
                .flatMap(page -> items.apply(page).stream());
    }

    private <Q, A> A page(MethodDescriptor<Q, A> method, Message.Builder request) {
        try {
            return call(method, request);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new TenureException.Unavailable("interrupted");
        }
    }
}
