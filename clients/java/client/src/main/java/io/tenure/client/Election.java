package io.tenure.client;

import io.tenure.client.transport.Backoff;
import io.tenure.client.transport.Connection;
import io.tenure.client.v1.Claim;
import io.tenure.client.v1.Event;
import io.tenure.client.v1.WatchRequest;
import io.tenure.client.v1.WatchResponse;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A candidacy in an election. The leader is the holder of the lock of the election's name. Each term has a session of its own.
 *
 * <pre>{@code
 * client.election("service_leader").ttl(Duration.ofSeconds(2)).owner("replica-1")
 *         .leadEvery(Duration.ofSeconds(1), hold -> System.out.println("working under token " + hold.token()));
 * }</pre>
 */
public final class Election extends Request<Election> {
    private static final Logger LOG = System.getLogger(Election.class.getName());
    /** A loop that waits for its next body reports progress this number of times before it would count as stalled ... */
    private static final int TICKS_WHILE_WAITING = 3;
    /** ... and the shortest interval of these reports, in nanoseconds. */
    private static final long SHORTEST_TICK = 1_000_000;

    /** What the leader does. */
    @FunctionalInterface
    public interface Work {
        /** Runs on the thread that leads, which is interrupted when the leadership is lost or is to be handed over. */
        void run(Hold leadership) throws Exception;
    }

    private final String name;
    private final LockRequest request;
    private final @Nullable Duration stallAfter;

    Election(String name, LockRequest request, @Nullable Duration stallAfter) {
        super(request.target);
        this.name = name;
        this.request = request;
        this.stallAfter = stallAfter;
    }

    @Override
    Election with(Target changed) {
        return new Election(name, request.with(changed), stallAfter);
    }

    /** The election's name. */
    public String name() {
        return name;
    }

    /** A label on the candidate, such as the address at which the leader is reached. */
    public Election metadata(String key, String value) {
        return new Election(name, request.metadata(key, value), stallAfter);
    }

    /** Higher goes first among candidates: -1000 to 1000. Default: 0. */
    public Election priority(int priority) {
        return new Election(name, request.priority(priority), stallAfter);
    }

    /** For at least this long after a candidate was elected, no other is elected, even if it resigns earlier. Default: 0. */
    public Election minHold(Duration minHold) {
        return new Election(name, request.minHold(minHold), stallAfter);
    }

    /**
     * The leadership is renewed only while the leader's work makes progress. A hung leader loses it within this and the TTL, is
     * interrupted, and another leads. More than zero. In {@link #leadEvery} the loop reports progress itself: this is the longest time
     * for one body. In {@link #lead}, and after {@link #campaign}, the work reports it by {@link Hold#tick}. Default: renewed while the
     * client runs.
     */
    public Election stallAfter(Duration within) {
        return new Election(name, request.stallAfter(within), within);
    }

    /**
     * Waits until this candidate leads. Returns its hold of the lock, until whose loss or release it leads: one term, with a token
     * greater than those of all earlier terms.
     */
    public Guard campaign() throws InterruptedException {
        return request.acquire();
    }

    /**
     * Campaigns, runs {@code work} on this thread while this candidate leads, and repeats this after a loss, and when the work has
     * returned (the candidate then resigns). The thread is interrupted when the leadership is lost; each term has a new token.
     *
     * <p>When the server asks for a handoff, the work may continue until the drain is nearly over; then it is interrupted, and this
     * candidate resigns, which confirms the handoff.
     *
     * <p>Never returns: interrupt the thread to resign and stop.
     *
     * @throws TenureException errors that a retry cannot fix
     * @throws Exception what the work throws, after resigning
     */
    public void lead(Work work) throws Exception {
        Backoff backoff = Backoff.ofRoles();
        while (true) {
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
            try {
                UnderHold.run(
                        term,
                        hold -> {
                            work.run(hold);
                            return name;
                        },
                        true);
            } catch (TenureException.Lost lost) {
                LOG.log(Level.WARNING, "the leadership of {0} is {1}", name, lost.getMessage());
            }
        }
    }

    /**
     * Runs {@code work} at the start of each term, and then every {@code period} while this candidate leads; campaigns again after a
     * loss. Work that takes longer than the period delays the next. When the server asks for a handoff, the running work may end within
     * the drain, and no other begins. Otherwise as {@link #lead}.
     *
     * @throws TenureException.Invalid for a period that is not more than zero
     */
    public void leadEvery(Duration period, Work work) throws Exception {
        if (period.isZero() || period.isNegative()) {
            throw new TenureException.Invalid("period", "it is not more than zero");
        }
        lead(leadership -> {
            long next = System.nanoTime();
            // The process may have been paused since the last check; between two bodies there is nothing to drain.
            while (leadership.isValid() && leadership.transferRequest() == null) {
                work.run(leadership);
                leadership.tick();
                next = Math.max(next + period.toNanos(), System.nanoTime());
                waitUntil(next, leadership);
            }
        });
    }

    /** Waits for the next body's time, or a handoff. Waiting is no stall, however long the period is. */
    private void waitUntil(long next, Hold leadership) throws Exception {
        long often = stallAfter == null ? Long.MAX_VALUE : stallAfter.toNanos() / TICKS_WHILE_WAITING;
        CompletableFuture<Handoff> requested = leadership.transferRequested();
        for (long left = next - System.nanoTime(); left > 0; left = next - System.nanoTime()) {
            try {
                requested.get(Math.min(left, Math.max(often, SHORTEST_TICK)), TimeUnit.NANOSECONDS);
                return;
            } catch (TimeoutException notYet) {
                leadership.tick();
            }
        }
        requested.cancel(false);
        leadership.tick();
    }

    /** The claim of the present leader. */
    public Optional<Claim> leader() throws InterruptedException {
        return Messages.holder(new TenureClient(target.connection()).getLock(name));
    }

    /** The claim of the leader, now and after each change; empty while there is no leader. Continues by itself after failures. */
    public Watch<Optional<Claim>> observe() {
        Connection connection = target.connection();
        return new Watch<>(connection, WatchRequest.newBuilder().addNames(name).build(), new Leaders(name));
    }

    /** Reads the changes of the leader from a watch. */
    private static final class Leaders implements Function<WatchResponse, Optional<Optional<Claim>>> {
        private final String name;
        private @Nullable Optional<Claim> leader;

        Leaders(String name) {
            this.name = name;
        }

        @Override
        public Optional<Optional<Claim>> apply(WatchResponse response) {
            Optional<Claim> before = leader;
            if (response.hasSnapshot()) {
                leader = response.getSnapshot().getLocksList().stream()
                        .filter(lock -> lock.getName().equals(name))
                        .findFirst()
                        .flatMap(Messages::holder);
            }
            response.getEvents().getEventsList().forEach(this::apply);
            return leader == null || leader.equals(before) ? Optional.empty() : Optional.of(leader);
        }

        private void apply(Event event) {
            switch (event.getType()) {
                case EVENT_TYPE_GRANTED, EVENT_TYPE_TRANSFERRED, EVENT_TYPE_UPDATED ->
                    leader = Optional.of(event.getClaim());
                case EVENT_TYPE_ENDED, EVENT_TYPE_LINGERING -> {
                    // The end of a waiter's claim changes nothing.
                    boolean isOfLeader = leader != null
                            && leader.filter(claim ->
                                            claim.getToken() == event.getClaim().getToken())
                                    .isPresent();
                    leader = isOfLeader ? Optional.empty() : leader;
                }
                default -> {}
            }
        }
    }
}
