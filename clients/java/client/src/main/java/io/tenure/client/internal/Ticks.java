package io.tenure.client.internal;

import java.util.concurrent.atomic.AtomicLong;

/** When a program said last that it gets on, and how long that is good for. */
public final class Ticks {
    private final long within;
    private final AtomicLong last;

    /** Whose first tick was at {@code now}. */
    public Ticks(long within, long now) {
        this.within = within;
        this.last = new AtomicLong(now);
    }

    /** The program gets on. */
    public void tick(long now) {
        last.set(now);
    }

    /** Whether the last tick is too long ago, for something that began at {@code since}: what was told before does not count. */
    public boolean isStalled(long since, long now) {
        return Clock.since(now, Math.max(last.get(), since)) >= within;
    }
}
