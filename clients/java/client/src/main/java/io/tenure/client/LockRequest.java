package io.tenure.client;

import io.tenure.client.internal.Clock;
import io.tenure.client.internal.Convert;
import io.tenure.client.internal.engine.AcquireSpec;
import io.tenure.client.internal.engine.Granted;
import io.tenure.client.internal.engine.Opened;
import io.tenure.client.internal.link.Link;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What to ask for, and how. Made by {@link TenureClient#lock} (in a session of its own, which ends with the guard) or
 * {@link Session#lock} (in that session). Immutable: each option answers a new request. Nothing is asked before one of the acquires
 * is called; each of them asks anew.
 *
 * <p>Requests of one session for the same name queue up in the client, in order of arrival.
 */
public final class LockRequest {
    private final TenureClient client;
    /** Null: one of its own. */
    private final @Nullable Session session;

    private final SessionOptions options;
    private final AcquireSpec spec;

    private LockRequest(TenureClient client, @Nullable Session session, SessionOptions options, AcquireSpec spec) {
        this.client = client;
        this.session = session;
        this.options = options;
        this.spec = spec;
    }

    static LockRequest inOwnSession(TenureClient client, List<String> names) {
        return new LockRequest(client, null, SessionOptions.defaults(), spec(names));
    }

    static LockRequest inSession(Session session, List<String> names) {
        return new LockRequest(session.client(), session, SessionOptions.defaults(), spec(names));
    }

    private static AcquireSpec spec(List<String> names) {
        List<String> sorted = names.stream().sorted(LockRequest::compareBytes).toList();
        return new AcquireSpec(sorted, Mode.EXCLUSIVE, 0, Map.of(), 0, 0);
    }

    private static int compareBytes(String one, String other) {
        return Arrays.compareUnsigned(one.getBytes(StandardCharsets.UTF_8), other.getBytes(StandardCharsets.UTF_8));
    }

    private LockRequest with(AcquireSpec changed) {
        return new LockRequest(client, session, options, changed);
    }

    /** The options of the session that is opened for this request. No effect on a request in a session that is there already. */
    public LockRequest session(SessionOptions those) {
        return new LockRequest(client, session, those, spec);
    }

    /** The TTL of the session that is opened for this request: see {@link SessionOptions}. */
    public LockRequest ttl(Duration ttl) {
        return session(options.ttl(ttl));
    }

    /** The disconnect grace of the session that is opened for this request: see {@link SessionOptions}. */
    public LockRequest disconnectGrace(Duration grace) {
        return session(options.disconnectGrace(grace));
    }

    /** The owner label of the session that is opened for this request: see {@link SessionOptions}. */
    public LockRequest owner(String owner) {
        return session(options.owner(owner));
    }

    /** Shares the locks, or takes permits: see {@link Mode}. Default: exclusive. */
    public LockRequest mode(Mode mode) {
        return with(new AcquireSpec(
                spec.names(), mode, spec.priority(), spec.metadata(), spec.minHold(), spec.stallAfter()));
    }

    /**
     * Shares the locks with others who ask for them shared: readers, as against a writer. A writer that waits lets no later reader
     * pass. Default: exclusive.
     */
    public LockRequest shared() {
        return mode(Mode.SHARED);
    }

    /**
     * Takes so many permits of each lock (1 to 1,000,000), out of the lock's limit: a semaphore. The limit is what an operator has
     * set, or what those say who claim permits. Default: exclusive.
     */
    public LockRequest permits(int permits) {
        return mode(Mode.permits(permits, spec.mode().limit()));
    }

    /**
     * The limit of permits that this program goes by (1 to 1,000,000): refused if the lock has another one. Takes one permit unless
     * {@link #permits} says how many. Default: whatever the lock's limit is; refused if it has none.
     */
    public LockRequest limit(int limit) {
        int permits = spec.mode().kind() == Mode.Kind.PERMITS ? spec.mode().permits() : 1;
        return mode(Mode.permits(permits, limit));
    }

    /** Higher goes first among waiters: -1000 to 1000. Default: 0. */
    public LockRequest priority(int priority) {
        return with(new AcquireSpec(
                spec.names(), spec.mode(), priority, spec.metadata(), spec.minHold(), spec.stallAfter()));
    }

    /** A free label on the claim. All labels together: at most 4096 bytes. */
    public LockRequest metadata(String key, String value) {
        Map<String, String> labels = new TreeMap<>(spec.metadata());
        labels.put(key, value);
        return metadata(labels);
    }

    /** All labels of the claim. */
    public LockRequest metadata(Map<String, String> labels) {
        return with(new AcquireSpec(
                spec.names(), spec.mode(), spec.priority(), Map.copyOf(labels), spec.minHold(), spec.stallAfter()));
    }

    /**
     * For at least this long after the grant nobody is granted these locks again, even if they are released earlier. For jobs that
     * are shorter than the clock skew of those who start them. At most 24 h. Default: 0.
     */
    public LockRequest minHold(Duration minHold) {
        return with(new AcquireSpec(
                spec.names(),
                spec.mode(),
                spec.priority(),
                spec.metadata(),
                Convert.nanos(minHold),
                spec.stallAfter()));
    }

    /**
     * Renews the session only while the work under the hold makes progress: while the grant, or the last {@link Hold#tick}, is less
     * than this ago. More than zero. Work that hangs so loses its locks within this and the TTL together, with
     * {@link LostReason.Kind#STALLED}. A session is renewed as a whole: what else it holds is lost too. Default: renewed while the
     * client runs.
     */
    public LockRequest stallAfter(Duration within) {
        if (within.isZero() || within.isNegative()) {
            throw new TenureException.Invalid("stall_after", "it is not more than zero");
        }
        return with(new AcquireSpec(
                spec.names(), spec.mode(), spec.priority(), spec.metadata(), spec.minHold(), Convert.nanos(within)));
    }

    /**
     * Waits for the locks, for as long as it takes.
     *
     * @throws TenureException.Lost if the session was lost while waiting
     * @throws TenureException.Unavailable if no session could be opened in time
     */
    public Guard acquire() throws InterruptedException {
        return guard(Pending.await(ask(Clock.NEVER)));
    }

    /** As {@link #acquire}. Cancelling it gives up. */
    public CompletableFuture<Guard> acquireAsync() {
        return ask(Clock.NEVER).published(client.link(), LockRequest::guard, Guard::drop);
    }

    /** Tries once. That somebody else holds the locks is no error. */
    public Attempt tryAcquire() throws InterruptedException {
        return Pending.await(ask(0));
    }

    /** As {@link #tryAcquire}. */
    public CompletableFuture<Attempt> tryAcquireAsync() {
        return ask(0).published(client.link(), LockRequest::discard);
    }

    /** Waits for the locks, at most this long (at most 365 days). That somebody else still holds them then is no error. */
    public Attempt acquireWithin(Duration wait) throws InterruptedException {
        return Pending.await(ask(Convert.nanos(wait)));
    }

    /** As {@link #acquireWithin}. Cancelling it gives up. */
    public CompletableFuture<Attempt> acquireWithinAsync(Duration wait) {
        return ask(Convert.nanos(wait)).published(client.link(), LockRequest::discard);
    }

    /**
     * Waits for the locks, runs {@code body} on this thread while they are held, and gives them back. If the hold is lost meanwhile,
     * the thread is interrupted before the server could give the locks to others. What the body started elsewhere it must stop
     * itself: {@link Hold#lost} tells when. An error in giving back what was held is told in the log only.
     *
     * @throws TenureException.Lost if the hold was lost while the body ran, whatever came of the body
     * @throws Exception what the body throws
     */
    public <T> T run(Body<T> body) throws Exception {
        return UnderLock.run(acquire(), body);
    }

    /**
     * Tries once; if the locks are free, runs {@code body} as {@link #run} does.
     *
     * @throws TenureException.Lost if the hold was lost while the body ran
     * @throws Exception what the body throws
     */
    public <T> Ran<T> tryRun(Body<T> body) throws Exception {
        Attempt attempt = tryAcquire();
        if (attempt instanceof Attempt.Busy busy) {
            return new Ran.Busy<>(busy.holder());
        }
        return new Ran.Done<>(UnderLock.run(guard(attempt), body));
    }

    /** The same lock as {@code java.util.concurrent} has them: owned by threads, who may enter it again. */
    public LockView asLock() {
        return new LockView(this);
    }

    private static Guard guard(Attempt attempt) {
        return attempt.guard().orElseThrow(() -> new TenureException.Unavailable("the server ended the wait"));
    }

    private static void discard(Attempt attempt) {
        attempt.guard().ifPresent(Guard::drop);
    }

    private AcquireSpec checked() {
        if (spec.names().isEmpty()) {
            throw new TenureException.Invalid("names", "there are none");
        }
        for (int place = 1; place < spec.names().size(); place++) {
            if (spec.names().get(place).equals(spec.names().get(place - 1))) {
                throw new TenureException.Invalid("names", "\"" + spec.names().get(place) + "\" is there twice");
            }
        }
        return spec;
    }

    private Pending<Attempt> ask(long wait) {
        AcquireSpec asked = checked();
        Pending<Attempt> answer = new Pending<>();
        if (session != null) {
            ask(session, asked, wait, answer, () -> {});
            return answer;
        }
        Pending<Opened> opening = client.open(options);
        answer.onCancel(() -> opening.cancel(false));
        opening.whenComplete((opened, error) -> {
            if (error != null) {
                answer.completeExceptionally(Pending.cause(error));
            } else {
                Session own = new Session(client, opened);
                ask(own, asked, wait, answer, own::drop);
            }
        });
        return answer;
    }

    private static void ask(Session in, AcquireSpec asked, long wait, Pending<Attempt> answer, Runnable gone) {
        Link link = in.client().link();
        long key = link.nextKey();
        CompletableFuture<Granted> reply = new CompletableFuture<>();
        answer.onCancel(() -> {
            reply.cancel(false);
            link.ask((engine, now) -> {
                engine.dropClaim(in.id(), key, now);
            });
        });
        reply.whenComplete((granted, error) -> {
            if (error != null) {
                answer.completeExceptionally(Pending.cause(error));
                return;
            }
            Attempt attempt = granted.hold() == null
                    ? new Attempt.Busy(granted.holder())
                    : new Attempt.Acquired(new Guard(in, key, granted.hold()));
            if (!answer.complete(attempt)) {
                discard(attempt);
            }
        });
        long patience = link.callTimeout().toNanos();
        link.ask(reply, (engine, now) -> {
            if (reply.isDone()) {
                // Given up before it came here.
                gone.run();
            } else {
                engine.acquire(key, in.opened(), asked, wait, patience, reply, gone, now);
            }
        });
    }
}
