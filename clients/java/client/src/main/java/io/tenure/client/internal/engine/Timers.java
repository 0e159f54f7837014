package io.tenure.client.internal.engine;

import io.tenure.client.internal.Clock;
import java.util.TreeMap;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** What is to be done later, in order of time. */
final class Timers {
    /** A timer. Those of one moment are due in the order in which they were set. */
    record Timer(long at, long number) implements Comparable<Timer> {
        @Override
        public int compareTo(Timer other) {
            return at == other.at ? Long.compare(number, other.number) : Long.compare(at, other.at);
        }
    }

    private final TreeMap<Timer, LongConsumer> due = new TreeMap<>();
    private long count;

    /** Calls {@code action} with the time, at that moment or later. */
    Timer set(long at, LongConsumer action) {
        Timer timer = new Timer(at, ++count);
        due.put(timer, action);
        return timer;
    }

    /** Takes a timer out. It may have been due before. */
    void clear(@Nullable Timer timer) {
        if (timer != null) {
            due.remove(timer);
        }
    }

    /** When the next one is due. */
    long next() {
        return due.isEmpty() ? Clock.NEVER : due.firstKey().at();
    }

    /** Does what is due. */
    void fire(long now) {
        while (!due.isEmpty() && due.firstKey().at() <= now) {
            due.pollFirstEntry().getValue().accept(now);
        }
    }
}
