package io.tenure.client.transport;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The clock of validity: it runs while the machine is suspended, if the platform shows how long that was.
 *
 * <p>{@link System#nanoTime} stops in suspend on Linux. {@code /proc/uptime} does not, but has a resolution of 10 ms and is rounded
 * down. So the difference is at most the time spent in suspend; the largest one ever seen is added. After a suspend this clock is at
 * most 10 ms late, and never ahead; the margin of a session's validity is at least that. Without such a file it is {@code nanoTime}
 * alone.
 */
public final class Clock {
    /** A moment that never comes. */
    public static final long NEVER = Long.MAX_VALUE;

    private static final long NANOS_PER_HUNDREDTH = 10_000_000L;
    private static final int LONGEST_UPTIME = 64;
    private static final @Nullable RandomAccessFile UPTIME = open();
    private static final AtomicLong AHEAD = new AtomicLong(Long.MIN_VALUE);

    private Clock() {}

    private static @Nullable RandomAccessFile open() {
        try {
            return new RandomAccessFile("/proc/uptime", "r");
        } catch (IOException noSuchFile) {
            return null;
        }
    }

    /** Now, in nanoseconds. Never less than before on the same thread. Only differences have a meaning. */
    public static long now() {
        long ahead = UPTIME == null ? 0 : AHEAD.accumulateAndGet(readAhead(UPTIME), Math::max);
        return System.nanoTime() + ahead;
    }

    private static long readAhead(RandomAccessFile file) {
        synchronized (file) {
            try {
                byte[] text = new byte[LONGEST_UPTIME];
                file.seek(0);
                int length = file.read(text);
                // Read after the file: what passes in between makes the difference smaller, not larger.
                return parse(new String(text, 0, Math.max(length, 0), StandardCharsets.US_ASCII)) - System.nanoTime();
            } catch (IOException | NumberFormatException unreadable) {
                return AHEAD.get() == Long.MIN_VALUE ? -System.nanoTime() : AHEAD.get();
            }
        }
    }

    /** The nanoseconds at the beginning of a text like "12345.67 890.12". */
    static long parse(String text) {
        int point = text.indexOf('.');
        if (point < 0 || text.length() < point + 3) {
            throw new NumberFormatException(text);
        }
        return Long.parseLong(text.substring(0, point) + text.substring(point + 1, point + 3)) * NANOS_PER_HUNDREDTH;
    }
}
