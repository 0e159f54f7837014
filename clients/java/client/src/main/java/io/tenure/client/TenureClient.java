package io.tenure.client;

import io.tenure.client.internal.Convert;
import io.tenure.client.internal.SuspendClock;
import io.tenure.client.internal.Validity;
import io.tenure.client.internal.engine.OpenSpec;
import io.tenure.client.internal.engine.Opened;
import io.tenure.client.internal.link.Endpoint;
import io.tenure.client.internal.link.Link;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A client of the service, for one namespace: where everything begins. It connects in the background, to one server at a time, and
 * goes to the next when that fails; sessions, what they hold, and their places in queues go along.
 *
 * <p>All calls may throw {@link TenureException}: {@link TenureException.Unavailable} if no server answered in time,
 * {@link TenureException.Refused} if one refused.
 */
public final class TenureClient implements AutoCloseable {
    private static final Logger LOG = System.getLogger(TenureClient.class.getName());

    private final Link link;
    private final Calls calls;
    private final LockCalls locks;
    private final SessionCalls sessions;
    private final GroupCalls groups;

    private TenureClient(ClientOptions options) {
        List<Endpoint> servers =
                options.endpoints().stream().map(Endpoint::parse).toList();
        SecurityCheck.check(options.security(), servers);
        this.link = new Link(
                servers,
                options.security(),
                options.namespace(),
                options.connectTimeout(),
                options.callTimeout(),
                SuspendClock.SYSTEM);
        this.calls = new Calls(link, options.namespace());
        this.locks = new LockCalls(calls);
        this.sessions = new SessionCalls(calls);
        this.groups = new GroupCalls(calls);
    }

    /**
     * A client with these options. Returns at once; calls wait for a connection, each until its deadline.
     *
     * @throws TenureException.Invalid if an endpoint is no URL, a time-out not more than zero, a file cannot be read, options do not
     *     go together, or a token would go out in the clear
     */
    public static TenureClient connect(ClientOptions options) {
        return new TenureClient(options.checked());
    }

    /** A client for these endpoints: a text of URLs separated by commas. */
    public static TenureClient connect(String endpoints) {
        return connect(ClientOptions.defaults().endpoints(ClientOptions.split(endpoints)));
    }

    /** A client as {@link ClientOptions#fromEnvironment} says. */
    public static TenureClient fromEnvironment() {
        return connect(ClientOptions.fromEnvironment());
    }

    /** The namespace of all that this client does. */
    public String namespace() {
        return calls.namespace();
    }

    /** Opens a session, which then keeps itself alive. */
    public Session session(SessionOptions options) throws InterruptedException {
        return new Session(this, Pending.await(open(options)));
    }

    /** As {@link #session}. */
    public CompletableFuture<Session> sessionAsync(SessionOptions options) {
        return open(options).published(link, opened -> new Session(this, opened), Session::drop);
    }

    /** Asks for a lock in a session of its own, which ends with the guard: see {@link LockRequest}. */
    public LockRequest lock(String name) {
        return LockRequest.inOwnSession(this, List.of(name));
    }

    /** Asks for several locks at once, all or nothing, with one token: 1 to 16 different names. */
    public LockRequest locks(String... names) {
        return LockRequest.inOwnSession(this, List.of(names));
    }

    /** Asks for several locks at once, all or nothing, with one token: 1 to 16 different names. */
    public LockRequest locks(List<String> names) {
        return LockRequest.inOwnSession(this, names);
    }

    /** A candidate's part in an election. */
    public Election election(String name) {
        return new Election(this, name);
    }

    /** Takes part in a group, in a session of its own, which ends with the membership: see {@link GroupRequest}. */
    public GroupRequest group(String name) {
        return new GroupRequest(this, name);
    }

    /** Watches locks and groups. What cannot be watched is told by the first item. */
    public Watch watch(WatchOptions options) {
        return Watch.start(link, options);
    }

    /** As {@link #watch}, as a publisher: each subscriber has a watch of its own, and is told as much as it requests. */
    public WatchPublisher publisher(WatchOptions options) {
        return new WatchPublisher(this, options);
    }

    /** Reads one lock. A lock that nobody ever asked for is an idle lock, not an error. */
    public LockInfo getLock(String name) throws InterruptedException {
        return locks.get(name);
    }

    /**
     * The locks that are held or waited for and whose names begin with {@code prefix} (empty: all), in byte order of their names.
     * Asked for page by page as they are looked at; each page is true at a revision of its own.
     */
    public Stream<LockInfo> listLocks(String prefix) {
        return locks.list(prefix);
    }

    /**
     * Who held a lock, as far back as history is kept: the holds that last first, then those that are over, what ended last first.
     * Asked for page by page as it is looked at.
     */
    public Stream<HistoryEntry> history(String name) {
        return locks.history(name);
    }

    /** The claims that wait, in the order in which they were made, with those that they wait for; or only those in a deadlock. */
    public Stream<BlockedClaim> listBlocked(boolean deadlockedOnly) {
        return locks.listBlocked(deadlockedOnly);
    }

    /** Reads one open session, with as many of its claims as fit into 1 MiB. */
    public SessionInfo getSession(String sessionId) throws InterruptedException {
        return sessions.get(sessionId);
    }

    /** The open sessions, oldest first. Asked for page by page as they are looked at. */
    public Stream<SessionInfo> listSessions() {
        return sessions.list();
    }

    /** Ends a session, by its id, and all that it holds and waits for. No error if it was closed already. */
    public void closeSession(String sessionId) throws InterruptedException {
        sessions.close(sessionId);
    }

    /** Gives back what a session holds, by a name and the token of the hold. For holds that no {@link Guard} keeps. */
    public void release(String name, String sessionId, long token) throws InterruptedException {
        locks.release(name, sessionId, token);
    }

    /**
     * Ends the hold of a lock against its holder's will, and answers what was ended. For operators; recorded in history. When no
     * server answers it may or may not have taken effect, unless a token was given.
     */
    public List<Claim> evict(String name, EvictOptions options) throws InterruptedException {
        return locks.evict(name, options);
    }

    /**
     * Hands a lock over to a waiter: the holder is asked to stop, and confirms by releasing. Returns when it is done, with the new
     * hold. For operators; recorded in history. There is no moment at which nobody holds the lock.
     *
     * @throws TenureException.Refused with {@code TRANSFER_IMPOSSIBLE} (nobody holds it, nobody waits, ...),
     *     {@code TRANSFER_PENDING}, or {@code TRANSFER_NOT_CONFIRMED} if the holder did not stop in time, and holds on
     */
    public Claim transfer(String name, TransferOptions options) throws InterruptedException {
        return locks.transfer(name, options);
    }

    /**
     * Sets what claims to a lock have to go by, in place of what was set before, on behalf of {@code operator} (1 to 255 bytes) with
     * a note (0 to 255 bytes). Takes nothing from holders; waiters that ask for more permits than there are then, are ended.
     */
    public LockInfo configureLock(String name, LockSettings settings, String operator, String note)
            throws InterruptedException {
        return locks.configure(name, settings, operator, note);
    }

    /** Replaces the labels of a hold, by a name and the token of the hold. */
    public Claim updateClaim(String name, String sessionId, long token, Map<String, String> metadata)
            throws InterruptedException {
        return locks.update(name, sessionId, token, metadata);
    }

    /** Reads one group. A group that nobody ever joined is an empty group, not an error. */
    public Group getGroup(String name) throws InterruptedException {
        return groups.get(name);
    }

    /** The groups that have members or a config and whose names begin with {@code prefix} (empty: all), in byte order. */
    public Stream<Group> listGroups(String prefix) {
        return groups.list(prefix);
    }

    /**
     * Sets the value that a group shares, or clears it with null, and answers the revision of the event that set it (0 if there is
     * none).
     *
     * @param expected only if that is the revision of the config that is there; 0: only if there is none; null: in any case
     * @throws TenureException.Refused with {@code CONFIG_CONFLICT} if the config is not the expected one
     */
    public long configureGroup(String name, @Nullable String config, @Nullable Long expected)
            throws InterruptedException {
        return groups.configure(name, config, expected);
    }

    /**
     * Closes all sessions of this client and ends its connection, so that what it holds is free at once. If no server answers within
     * the time of a call, the sessions end by their TTLs.
     */
    @Override
    public void close() {
        awaitQuietly(link.shutDown(), "the client was not closed cleanly");
    }

    /** Hands over what a session of this client holds. Answers the next token. */
    long handOver(String name, String sessionId, long token, @Nullable String to) throws InterruptedException {
        return locks.handOver(name, sessionId, token, to);
    }

    Pending<Opened> open(SessionOptions options) {
        String id = options.id() == null ? SessionIds.fresh() : options.id();
        Duration grace = options.disconnectGrace();
        Progress progress = options.renewWhile();
        OpenSpec spec = new OpenSpec(
                id,
                Convert.nanos(options.ttl()),
                grace == null ? Validity.NO_GRACE : Convert.nanos(grace),
                options.owner(),
                options.metadata(),
                progress == null ? null : progress.ticks());
        Pending<Opened> reply = new Pending<>();
        reply.onCancel(() -> link.ask((engine, now) -> engine.dropOpening(id, reply, now)));
        long giveUp = link.giveUp();
        link.ask(reply, (engine, now) -> {
            if (!reply.isDone()) {
                engine.open(spec, giveUp, reply, now);
            }
        });
        return reply;
    }

    /** Waits, and only logs what goes wrong. An interrupt ends the waiting, not what is waited for. */
    void awaitQuietly(CompletableFuture<?> done, String complaint) {
        try {
            done.get();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | CompletionException error) {
            LOG.log(Level.WARNING, "{0}: {1}", complaint, error.getCause());
        }
    }

    Link link() {
        return link;
    }

    Calls calls() {
        return calls;
    }
}
