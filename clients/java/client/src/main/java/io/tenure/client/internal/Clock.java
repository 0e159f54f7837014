package io.tenure.client.internal;

/** The clock that validity is measured on, in nanoseconds. Only differences mean something. */
@FunctionalInterface
public interface Clock {
    /** A moment that never comes. */
    long NEVER = Long.MAX_VALUE;

    /** Now. Never less than before. */
    long now();

    /** A moment and a while. Saturates. */
    static long after(long moment, long whileNanos) {
        long sum = moment + whileNanos;
        return whileNanos > 0 && sum < moment ? NEVER : sum;
    }

    /** How long it is from an earlier moment to a later one; zero if it is not later. */
    static long since(long later, long earlier) {
        return later > earlier ? later - earlier : 0;
    }
}
