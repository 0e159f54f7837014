package io.tenure.client;

import io.tenure.client.transport.Clock;
import io.tenure.client.v1.PendingTransfer;
import java.time.Duration;

/** A request to the holder to stop its work and hand over. It confirms by releasing; otherwise it keeps the lock. */
public final class Handoff {
    /** The part of the drain that is reserved for the release to reach the server in time: a fifth ... */
    private static final int MARGIN_DIVISOR = 5;
    /** ... but at least this, in nanoseconds ... */
    private static final long MARGIN_MIN = 20_000_000;
    /** ... and at most this. */
    private static final long MARGIN_MAX = 1_000_000_000;

    private final PendingTransfer pending;
    private final long stopAt;

    Handoff(PendingTransfer pending, long since) {
        this.pending = pending;
        Duration drain = Duration.ofSeconds(
                pending.getDrain().getSeconds(), pending.getDrain().getNanos());
        this.stopAt = since + usable(drain.toNanos());
    }

    /** The part of a drain for which the work may continue. */
    static long usable(long drain) {
        long margin = Math.min(Math.max(drain / MARGIN_DIVISOR, MARGIN_MIN), MARGIN_MAX);
        return Math.max(drain - margin, 0);
    }

    /**
     * The request. Without an operator: a better candidate waits, and by the lock's settings it is handed the lock; or the client was
     * moving to another server when the request arrived.
     */
    public PendingTransfer pending() {
        return pending;
    }

    /** How long the work may continue, if the release is to reach the server in time. Zero when that has passed. */
    public Duration remaining() {
        return Duration.ofNanos(Math.max(stopAt - Clock.now(), 0));
    }
}
