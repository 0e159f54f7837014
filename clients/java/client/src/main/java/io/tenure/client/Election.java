package io.tenure.client;

import io.tenure.client.internal.Backoff;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One candidate's part in an election. The leader is whoever holds the lock of the election's name. Immutable: each option answers a
 * new one.
 *
 * <pre>{@code
 * client.election("service_leader").ttl(Duration.ofSeconds(2)).owner("replica-1")
 *         .leadEvery(Duration.ofSeconds(1), hold -> System.out.println("working under token " + hold.token()));
 * }</pre>
 */
public final class Election {
    private static final Logger LOG = System.getLogger(Election.class.getName());

    /** What the leader does. */
    @FunctionalInterface
    public interface Work {
        /** Runs on the thread that leads, which is interrupted when the leadership is lost or has to be handed over. */
        void run(Hold leadership) throws Exception;
    }

    private final TenureClient client;
    private final String name;
    private final LockRequest request;
    private final SessionOptions options;
    private final @Nullable Duration stallAfter;
    private final Map<String, String> metadata;

    Election(TenureClient client, String name) {
        this(client, name, client.lock(name), SessionOptions.defaults(), null, Map.of());
    }

    private Election(
            TenureClient client,
            String name,
            LockRequest request,
            SessionOptions options,
            @Nullable Duration stallAfter,
            Map<String, String> metadata) {
        this.client = client;
        this.name = name;
        this.request = request;
        this.options = options;
        this.stallAfter = stallAfter;
        this.metadata = metadata;
    }

    /** The election's name. */
    public String name() {
        return name;
    }

    /** The options of the session that each term takes. */
    public Election session(SessionOptions those) {
        return new Election(client, name, request.session(those), those, stallAfter, metadata);
    }

    /** How long the leader may be unheard of before another takes over. Default: 10 s. */
    public Election ttl(Duration ttl) {
        return session(options.ttl(ttl));
    }

    /** How long after the leader's connection has broken another takes over: see {@link SessionOptions}. Default: none. */
    public Election disconnectGrace(Duration grace) {
        return session(options.disconnectGrace(grace));
    }

    /** Who this candidate is, for people. Default: empty. */
    public Election owner(String owner) {
        return session(options.owner(owner));
    }

    /** Takes part only while the program makes this progress, also as a mere candidate. */
    public Election renewWhile(Progress progress) {
        return session(options.renewWhile(progress));
    }

    /** A label on the candidate, such as the address at which the leader is reached. */
    public Election metadata(String key, String value) {
        Map<String, String> labels = new TreeMap<>(metadata);
        labels.put(key, value);
        return new Election(client, name, request.metadata(labels), options, stallAfter, labels);
    }

    /** Higher goes first among candidates: -1000 to 1000. Default: 0. */
    public Election priority(int priority) {
        return with(request.priority(priority), stallAfter);
    }

    /** For at least this long after a candidate was elected no other is, even if it resigns earlier. Default: 0. */
    public Election minHold(Duration minHold) {
        return with(request.minHold(minHold), stallAfter);
    }

    /**
     * The leadership is renewed only while the leader's work makes progress; a leader that hangs is lost within this and the TTL, and
     * another leads. More than zero. In {@link #leadEvery} the loop tells by itself: this is how long one body may take. In
     * {@link #lead}, and after {@link #campaign}, the work tells by {@link Hold#tick}. Default: renewed while the client runs.
     */
    public Election stallAfter(Duration within) {
        return with(request.stallAfter(within), within);
    }

    private Election with(LockRequest changed, @Nullable Duration within) {
        return new Election(client, name, changed, options, within, metadata);
    }

    /** Waits until this candidate leads. The guard is the leadership: releasing it resigns. */
    public Guard campaign() throws InterruptedException {
        return request.acquire();
    }

    /**
     * Campaigns, runs {@code work} on this thread while this candidate leads, and so on for ever: after a loss, and when the work
     * has returned (it then resigns). The thread is interrupted when the leadership is lost; each time it leads it has a new token.
     *
     * <p>When the server asks for a handoff, the work may go on until the drain is nearly over; then it is interrupted, and this
     * candidate resigns, which confirms the handoff.
     *
     * <p>Never returns: interrupt the thread to resign and stop.
     *
     * @throws TenureException what trying again cannot cure
     * @throws Exception what the work throws, after resigning
     */
    public void lead(Work work) throws Exception {
        lead(work, () -> false);
    }

    /** As {@link #lead(Work)}, until {@code isStopped}: an interrupt alone may come together with the one that a loss brings. */
    void lead(Work work, BooleanSupplier isStopped) throws Exception {
        Backoff backoff = Backoff.ofRounds();
        while (!Thread.interrupted() && !isStopped.getAsBoolean()) {
            Guard term;
            try {
                term = campaign();
            } catch (TenureException error) {
                if (!error.isTransient() && !(error instanceof TenureException.Lost)) {
                    throw error;
                }
                LOG.log(Level.WARNING, "the campaign for {0} failed, and starts over: {1}", name, error.getMessage());
                TimeUnit.NANOSECONDS.sleep(backoff.next());
                continue;
            }
            backoff.reset();
            Term.run(term, work);
        }
        throw new InterruptedException("leading was stopped");
    }

    /**
     * Runs {@code work} at once on leading, and then every {@code period} while this candidate leads; campaigns again after a loss.
     * Work that takes longer than the period delays the next. When the server asks for a handoff, the work that runs may come to its
     * end within the drain, and no other begins. All else is as with {@link #lead}.
     */
    public void leadEvery(Duration period, Work work) throws Exception {
        if (period.isZero() || period.isNegative()) {
            throw new TenureException.Invalid("period", "it is not more than zero");
        }
        lead(new Periodic(period, stallAfter, work));
    }

    /** Leads on a thread of its own, and tells the listener. Close what this answers to resign and stop. */
    public Leading start(LeadershipListener listener) {
        return new Leading(this, listener);
    }

    /** Who leads now. */
    public Optional<Leader> leader() throws InterruptedException {
        return client.getLock(name).holder().map(Leader::of);
    }

    /** Who leads, now and after each change. Goes on by itself after failures. */
    public LeaderWatch observe() {
        return new LeaderWatch(client.watch(WatchOptions.ofNames(name)), name);
    }

    /**
     * Who leads.
     *
     * @param token the fencing token of the leadership
     * @param sessionId the leader's session
     * @param owner the leader's owner label
     * @param metadata the leader's labels
     */
    public record Leader(long token, String sessionId, String owner, Map<String, String> metadata) {
        static Leader of(Claim claim) {
            return new Leader(claim.token(), claim.sessionId(), claim.owner(), claim.metadata());
        }
    }
}
