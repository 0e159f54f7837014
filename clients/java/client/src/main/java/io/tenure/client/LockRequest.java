package io.tenure.client;

import com.google.protobuf.ByteString;
import io.tenure.client.v1.BusyState;
import io.tenure.client.v1.Declaration;
import io.tenure.client.v1.DeclaredClaim;
import io.tenure.client.v1.Mode;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A request for one or more locks, all or nothing. Made by {@link TenureClient#lock} (in a session of its own, which ends with the guard)
 * and {@link Session#lock}. Two requests of one session are two claims, and exclude each other like any others.
 */
public final class LockRequest extends Request<LockRequest> {
    private static final Comparator<String> BYTE_ORDER =
            Comparator.comparing(ByteString::copyFromUtf8, ByteString.unsignedLexicographicalComparator());

    private final DeclaredClaim claim;
    private final @Nullable Duration stallAfter;

    LockRequest(Target target, List<String> names) {
        this(
                target,
                DeclaredClaim.newBuilder()
                        .addAllNames(names.stream().sorted(BYTE_ORDER).toList())
                        .build(),
                null);
    }

    private LockRequest(Target target, DeclaredClaim claim, @Nullable Duration stallAfter) {
        super(target);
        this.claim = claim;
        this.stallAfter = stallAfter;
    }

    @Override
    LockRequest with(Target changed) {
        return new LockRequest(changed, claim, stallAfter);
    }

    private LockRequest with(DeclaredClaim.Builder changed) {
        return new LockRequest(target, changed.build(), stallAfter);
    }

    /**
     * Shares the locks with other shared requests: readers, as opposed to a writer. Later readers wait behind a waiting writer. Default:
     * exclusive.
     */
    public LockRequest shared() {
        return with(claim.toBuilder().setMode(Mode.MODE_SHARED));
    }

    /**
     * Acquires this number of permits of each lock (1 to 1,000,000), out of the lock's limit: a semaphore. The limit is set by an
     * operator, or by the claims to permits: see {@link #limit}. Default: exclusive.
     */
    public LockRequest permits(int permits) {
        return with(claim.toBuilder().setMode(Mode.MODE_PERMITS).setPermits(permits));
    }

    /**
     * The limit of permits that this program expects (1 to 1,000,000): rejected if the lock has another one. Acquires one permit, unless
     * {@link #permits} sets another number. Default: the lock's limit; rejected if it has none.
     */
    public LockRequest limit(int limit) {
        return with(claim.toBuilder().setMode(Mode.MODE_PERMITS).setLimit(limit));
    }

    /** The priority among waiters, higher first: -1000 to 1000. Default: 0. */
    public LockRequest priority(int priority) {
        return with(claim.toBuilder().setPriority(priority));
    }

    /** A free label on the claim. All labels together: at most 4096 bytes. */
    public LockRequest metadata(String key, String value) {
        return with(claim.toBuilder().putMetadata(key, value));
    }

    /** All labels of the claim. */
    public LockRequest metadata(Map<String, String> labels) {
        return with(claim.toBuilder().clearMetadata().putAllMetadata(labels));
    }

    /**
     * For at least this long after the grant, no claim is granted these locks again, even if they are released earlier. For jobs that
     * are shorter than the clock skew of the hosts that start them. At most 24 h. Default: 0.
     */
    public LockRequest minHold(Duration minHold) {
        return with(claim.toBuilder().setMinHold(SessionOptions.toWire(minHold)));
    }

    /**
     * Renews the session only while the work under the hold makes progress: while the grant, or the last {@link Hold#tick}, is less than
     * this ago. More than zero. Hung work loses its locks within this and the TTL together, with {@link LostReason.Kind#STALLED}. A
     * session is renewed as a whole: its other holds are lost, too. Default: renewed while the client runs.
     */
    public LockRequest stallAfter(Duration within) {
        Progress.within(within);
        return new LockRequest(target, claim, within);
    }

    /**
     * Waits for the locks, for as long as it takes.
     *
     * @throws TenureException.Lost if the session was lost while waiting
     * @throws TenureException.Unavailable if no session could be opened in time
     */
    public Guard acquire() throws InterruptedException {
        return Obtaining.await(acquireAsync());
    }

    /** As {@link #acquire}. Cancelling it withdraws the request. */
    public CompletableFuture<Guard> acquireAsync() {
        return request(null, Function.identity(), busy -> {
            throw new TenureException.Unavailable("the wait was ended by the server");
        });
    }

    /** Makes one attempt. Locks held by another claim are no error. */
    public Attempt<Guard> tryAcquire() throws InterruptedException {
        return acquireWithin(Duration.ZERO);
    }

    /** Waits for the locks, at most this long (at most 10 years). Locks that another claim still holds then are no error. */
    public Attempt<Guard> acquireWithin(Duration wait) throws InterruptedException {
        return Obtaining.await(acquireWithinAsync(wait));
    }

    /** As {@link #acquireWithin}. Cancelling it withdraws the request. */
    public CompletableFuture<Attempt<Guard>> acquireWithinAsync(Duration wait) {
        return request(wait, Attempt.Acquired::new, Attempt.Busy::new);
    }

    /**
     * Waits for the locks, runs {@code body} on this thread while they are held, and releases them. If the hold is lost meanwhile, the
     * thread is interrupted before the server could grant the locks to others. The body must itself stop work that it started elsewhere,
     * which can wait for {@link Hold#lost}. An error of the release is only logged.
     *
     * @throws TenureException.Lost if the hold was lost while the body ran, regardless of the body's result
     * @throws Exception what the body throws
     */
    public <T extends @Nullable Object> T run(Body<T> body) throws Exception {
        return UnderHold.run(acquire(), body, false);
    }

    /**
     * Makes one attempt; if the locks are free, runs {@code body} as {@link #run} does. Locks held by another claim are no error.
     *
     * @throws TenureException.Lost if the hold was lost while the body ran
     * @throws Exception what the body throws
     */
    public <T extends @Nullable Object> Attempt<T> tryRun(Body<T> body) throws Exception {
        Attempt<Guard> attempt = tryAcquire();
        if (attempt instanceof Attempt.Busy<Guard> busy) {
            return new Attempt.Busy<>(busy.busy());
        }
        return new Attempt.Acquired<>(UnderHold.run(attempt.acquired().orElseThrow(), body, false));
    }

    private <T> CompletableFuture<T> request(
            @Nullable Duration wait, Function<Guard, T> acquired, Function<BusyState, T> busy) {
        List<String> names = List.copyOf(claim.getNamesList());
        // What is not worth a request; the server checks all bounds.
        if (names.isEmpty() || new HashSet<>(names).size() < names.size()) {
            throw new TenureException.Invalid("names", "there are none, or one is there twice");
        }
        Progress progress = stallAfter == null ? null : Progress.within(stallAfter);
        boolean isQueued = wait == null || !wait.isZero();
        Declaration declaration = Declaration.newBuilder()
                .addClaims(claim.toBuilder().setQueue(isQueued))
                .build();
        return new Obtaining<>(
                target,
                declaration,
                progress,
                wait,
                (part, token) -> acquired.apply(new Guard(part, names, token, progress)),
                busy);
    }

    /** The same lock as a {@link java.util.concurrent.locks.Lock}: owned by threads, which may enter it again. */
    public LockView asLock() {
        return new LockView(this);
    }
}
