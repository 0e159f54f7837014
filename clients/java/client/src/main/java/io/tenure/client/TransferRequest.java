package io.tenure.client;

import io.tenure.client.internal.Clock;
import io.tenure.client.internal.SuspendClock;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The holder is asked to stop its work and hand over. It confirms by releasing; if it does not in time, it holds on. */
public final class TransferRequest {
    /** What is kept of the drain for the release to reach the server in time: a fifth ... */
    private static final int MARGIN_DIVISOR = 5;
    /** ... but at least this ... */
    private static final Duration MARGIN_MIN = Duration.ofMillis(20);
    /** ... and at most this. */
    private static final Duration MARGIN_MAX = Duration.ofSeconds(1);

    private final Duration drain;
    private final @Nullable String operator;
    private final @Nullable String note;
    private final long stopAt;

    /** One that was received at {@code now}, by the client's clock. Made by the client itself. */
    public TransferRequest(Duration drain, @Nullable String operator, @Nullable String note, long now) {
        this.drain = drain;
        this.operator = operator;
        this.note = note;
        this.stopAt = Clock.after(now, mayGoOn(drain).toNanos());
    }

    static Duration mayGoOn(Duration drain) {
        Duration margin = drain.dividedBy(MARGIN_DIVISOR);
        margin = margin.compareTo(MARGIN_MIN) < 0 ? MARGIN_MIN : margin;
        margin = margin.compareTo(MARGIN_MAX) > 0 ? MARGIN_MAX : margin;
        Duration left = drain.minus(margin);
        return left.isNegative() ? Duration.ZERO : left;
    }

    /** For how long the holder was given to go on, from when it was asked. */
    public Duration drain() {
        return drain;
    }

    /**
     * The operator who asks. Null: a better candidate waits, and the lock's settings say that it is handed the lock; or the client
     * was moving to another server when the request came.
     */
    public @Nullable String operator() {
        return operator;
    }

    /** The operator's note, as far as the operator is known. */
    public @Nullable String note() {
        return note;
    }

    /** How long the work may go on, if the release is to reach the server in time. Zero when that has passed. */
    public Duration remaining() {
        return Duration.ofNanos(Clock.since(stopAt, SuspendClock.SYSTEM.now()));
    }
}
