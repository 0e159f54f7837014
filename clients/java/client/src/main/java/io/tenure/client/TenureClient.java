package io.tenure.client;

import io.tenure.client.transport.Connection;
import io.tenure.client.v1.BlockedClaim;
import io.tenure.client.v1.Claim;
import io.tenure.client.v1.CloseSessionRequest;
import io.tenure.client.v1.ConfigureGroupRequest;
import io.tenure.client.v1.ConfigureLockRequest;
import io.tenure.client.v1.Declaration;
import io.tenure.client.v1.EvictRequest;
import io.tenure.client.v1.GetSessionRequest;
import io.tenure.client.v1.Group;
import io.tenure.client.v1.GroupServiceGrpc;
import io.tenure.client.v1.HistoryEntry;
import io.tenure.client.v1.ListBlockedRequest;
import io.tenure.client.v1.ListBlockedResponse;
import io.tenure.client.v1.ListGroupsRequest;
import io.tenure.client.v1.ListGroupsResponse;
import io.tenure.client.v1.ListHistoryRequest;
import io.tenure.client.v1.ListHistoryResponse;
import io.tenure.client.v1.ListLocksRequest;
import io.tenure.client.v1.ListLocksResponse;
import io.tenure.client.v1.ListSessionsRequest;
import io.tenure.client.v1.ListSessionsResponse;
import io.tenure.client.v1.Lock;
import io.tenure.client.v1.LockServiceGrpc;
import io.tenure.client.v1.ReleaseRequest;
import io.tenure.client.v1.SessionServiceGrpc;
import io.tenure.client.v1.TransferRequest;
import io.tenure.client.v1.WatchRequest;
import io.tenure.client.v1.WatchResponse;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A client of the service, for one namespace. It connects in the background, to one server at a time, and fails over to the next;
 * sessions, their holds, and their places in queues remain.
 *
 * <p>All calls may throw {@link TenureException}: {@link TenureException.Unavailable} if no server answered in time, {@link
 * TenureException.Refused} if one refused, {@link TenureException.Closed} after the client was closed. Requests and replies of reads and
 * operators' calls are the contract's messages; the namespace in a request is set by the client.
 */
public final class TenureClient implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(TenureClient.class.getName());
    /** The contract's default of {@code TransferRequest.drain}. */
    private static final Duration DEFAULT_DRAIN = Duration.ofSeconds(10);

    private final Connection connection;

    private TenureClient(Connection connection) {
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
        return Obtaining.await(sessionAsync(options));
    }

    /** As {@link #session}. Cancelling it closes the session. */
    public CompletableFuture<Session> sessionAsync(SessionOptions options) {
        return new Obtaining<>(
                target().with(options),
                Declaration.getDefaultInstance(),
                null,
                Duration.ZERO,
                (part, opened) -> part.session(),
                busy -> {
                    throw new TenureException.Unavailable("the session was not opened");
                });
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
        return Messages.getLock(connection, name);
    }

    /**
     * The locks that are held or waited for and whose names begin with {@code prefix} (empty: all), in byte order of their names. Like
     * all lists, it is requested page by page, the first page at once; each page is consistent at a revision of its own.
     */
    public Stream<Lock> listLocks(String prefix) {
        ListLocksRequest.Builder request =
                ListLocksRequest.newBuilder().setNamespace(namespace()).setPrefix(prefix);
        return list(
                page -> connection.call(
                        LockServiceGrpc.getListLocksMethod(),
                        request.setPageToken(page).build()),
                ListLocksResponse::getLocksList,
                ListLocksResponse::getNextPageToken);
    }

    /** The holds of a lock, as far back as history is kept: current holds first, then ended ones, the last end first. */
    public Stream<HistoryEntry> history(String name) {
        ListHistoryRequest.Builder request =
                ListHistoryRequest.newBuilder().setNamespace(namespace()).setName(name);
        return list(
                page -> connection.call(
                        LockServiceGrpc.getListHistoryMethod(),
                        request.setPageToken(page).build()),
                ListHistoryResponse::getEntriesList,
                ListHistoryResponse::getNextPageToken);
    }

    /** The waiting claims, oldest first, with the claims that they wait for; or only those in a deadlock. */
    public Stream<BlockedClaim> listBlocked(boolean deadlockedOnly) {
        ListBlockedRequest.Builder request =
                ListBlockedRequest.newBuilder().setNamespace(namespace()).setDeadlockedOnly(deadlockedOnly);
        return list(
                page -> connection.call(
                        LockServiceGrpc.getListBlockedMethod(),
                        request.setPageToken(page).build()),
                ListBlockedResponse::getBlockedList,
                ListBlockedResponse::getNextPageToken);
    }

    /** The open sessions, oldest first. */
    public Stream<io.tenure.client.v1.Session> listSessions() {
        ListSessionsRequest.Builder request = ListSessionsRequest.newBuilder().setNamespace(namespace());
        return list(
                page -> connection.call(
                        SessionServiceGrpc.getListSessionsMethod(),
                        request.setPageToken(page).build()),
                ListSessionsResponse::getSessionsList,
                ListSessionsResponse::getNextPageToken);
    }

    /** The groups that have members or a config and whose names begin with {@code prefix} (empty: all), in byte order. */
    public Stream<Group> listGroups(String prefix) {
        ListGroupsRequest.Builder request =
                ListGroupsRequest.newBuilder().setNamespace(namespace()).setPrefix(prefix);
        return list(
                page -> connection.call(
                        GroupServiceGrpc.getListGroupsMethod(),
                        request.setPageToken(page).build()),
                ListGroupsResponse::getGroupsList,
                ListGroupsResponse::getNextPageToken);
    }

    /** Reads one open session, with as many of its claims as fit into 1 MiB. */
    public io.tenure.client.v1.Session getSession(String sessionId) throws InterruptedException {
        GetSessionRequest.Builder request = GetSessionRequest.newBuilder().setNamespace(namespace());
        return connection
                .call(
                        SessionServiceGrpc.getGetSessionMethod(),
                        request.setSessionId(sessionId).build())
                .getSession();
    }

    /** Ends a session, by its id, and all its holds and waits. No error if it was closed already. */
    public void closeSession(String sessionId) throws InterruptedException {
        CloseSessionRequest.Builder request = CloseSessionRequest.newBuilder().setNamespace(namespace());
        connection.call(
                SessionServiceGrpc.getCloseSessionMethod(),
                request.setSessionId(sessionId).build());
    }

    /** Releases a hold of a session, by a name and the token of the hold. For holds without a {@link Guard}. */
    public void release(String name, String sessionId, long token) throws InterruptedException {
        ReleaseRequest.Builder request =
                ReleaseRequest.newBuilder().setNamespace(namespace()).setName(name);
        connection.call(
                LockServiceGrpc.getReleaseMethod(),
                request.setSessionId(sessionId).setToken(token).build());
    }

    /**
     * Ends the hold of a lock against its holder's will, and returns the ended claims: every hold, or only the one with the token of the
     * request. For operators; recorded in history. After {@code Unavailable} it may or may not have taken effect, unless a token was
     * given.
     */
    public List<Claim> evict(EvictRequest request) throws InterruptedException {
        // Without a token a second attempt could evict the next holder.
        return connection
                .call(
                        LockServiceGrpc.getEvictMethod(),
                        request.toBuilder().setNamespace(namespace()).build(),
                        request.getToken() != 0,
                        Duration.ZERO)
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
        // Without a token a second attempt could make the next holder hand over.
        return connection
                .call(
                        LockServiceGrpc.getTransferMethod(),
                        request.toBuilder().setNamespace(namespace()).build(),
                        request.getToken() != 0,
                        request.hasDrain() ? drain : DEFAULT_DRAIN)
                .getClaim();
    }

    /**
     * Sets the settings of a lock, in place of the previous ones. Holders keep what they hold; waiters that request more permits than
     * the new limit are ended.
     */
    public Lock configureLock(ConfigureLockRequest request) throws InterruptedException {
        ConfigureLockRequest named =
                request.toBuilder().setNamespace(namespace()).build();
        return connection.call(LockServiceGrpc.getConfigureLockMethod(), named).getLock();
    }

    /** Reads one group. A group that was never joined is an empty group, not an error. */
    public Group getGroup(String name) throws InterruptedException {
        return Messages.getGroup(connection, name);
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
                ConfigureGroupRequest.newBuilder().setNamespace(namespace()).setGroup(name);
        if (config != null) {
            request.setConfig(config);
        }
        if (expected != null) {
            request.setExpectedRevision(expected);
        }
        // A repeated call would find the config of the first one instead of the expected one.
        return connection
                .call(GroupServiceGrpc.getConfigureGroupMethod(), request.build(), expected == null, Duration.ZERO)
                .getConfigRevision();
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

    /** Reads one page. */
    @FunctionalInterface
    private interface Page<A> {
        A read(String pageToken) throws InterruptedException;
    }

    private static <A, T> Stream<T> list(Page<A> pages, Function<A, List<T>> items, Function<A, String> next) {
        return Stream.iterate(page(pages, ""), Objects::nonNull, page -> {
                    String token = next.apply(page);
                    return token.isEmpty() ? null : page(pages, token);
                })
                .flatMap(page -> items.apply(page).stream());
    }

    private static <A> A page(Page<A> pages, String token) {
        try {
            return pages.read(token);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new TenureException.Unavailable("interrupted");
        }
    }
}
