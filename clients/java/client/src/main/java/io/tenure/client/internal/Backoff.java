package io.tenure.client.internal;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** Doubling pauses with jitter: each is drawn from the upper half of its step. */
public final class Backoff {
    private static final int MOST_DOUBLINGS = 16;

    private final long first;
    private final long longest;
    private int tries;

    public Backoff(Duration first, Duration longest) {
        this.first = first.toNanos();
        this.longest = longest.toNanos();
    }

    /** Between tries of a call or command that was refused for now. */
    public static Backoff ofCalls() {
        return new Backoff(Duration.ofMillis(20), Duration.ofMillis(500));
    }

    /** Between tries of something that takes several calls, such as a campaign. */
    public static Backoff ofRounds() {
        return new Backoff(Duration.ofMillis(50), Duration.ofMillis(500));
    }

    /** The pause before the next try, in nanoseconds. */
    public long next() {
        long step = Math.min(first << Math.min(tries, MOST_DOUBLINGS), longest);
        tries++;
        return ThreadLocalRandom.current().nextLong(step / 2, step + 1);
    }

    /** It went well: the next pause is short again. */
    public void reset() {
        tries = 0;
    }
}
