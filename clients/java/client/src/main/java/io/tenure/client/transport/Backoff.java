package io.tenure.client.transport;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** Doubling pauses with jitter: each is drawn from the upper half of its step. */
public final class Backoff {
    private static final int MOST_DOUBLINGS = 16;

    private final long first;
    private final long longest;
    private int tries;

    Backoff(Duration first, Duration longest) {
        this.first = first.toNanos();
        this.longest = longest.toNanos();
    }

    /** Between attempts of a call, or of a declaration that was rejected temporarily. */
    public static Backoff ofCalls() {
        return new Backoff(Duration.ofMillis(20), Duration.ofMillis(500));
    }

    /** Between attempts of long-lived roles: to lead, to join, to watch. */
    public static Backoff ofRoles() {
        return new Backoff(Duration.ofMillis(50), Duration.ofMillis(500));
    }

    /** The pause before the next attempt, in nanoseconds. */
    public long next() {
        long step = Math.min(first << Math.min(tries, MOST_DOUBLINGS), longest);
        tries++;
        return ThreadLocalRandom.current().nextLong(step / 2, step + 1);
    }

    /** Starts again with a short pause, after a success. */
    public void reset() {
        tries = 0;
    }
}
