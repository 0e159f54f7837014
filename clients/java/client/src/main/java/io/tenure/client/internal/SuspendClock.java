package io.tenure.client.internal;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A clock that runs while the machine is suspended, as far as the platform tells.
 *
 * <p>{@link System#nanoTime} stands still in suspend on Linux. {@code /proc/uptime} does not, but has a resolution of 10 ms and is
 * cut off, never rounded up. So what it is ahead of {@code nanoTime} is at most the time spent in suspend; the most ever seen is
 * added. After a suspend this clock is at most 10 ms late, and never ahead; the margin of a session's validity is at least that
 * much. Where there is no such file, it is {@code nanoTime} alone: what a suspend then does depends on the platform.
 */
public final class SuspendClock implements Clock {
    /** The one of this process. */
    public static final Clock SYSTEM = new SuspendClock();

    private static final long NANOS_PER_HUNDREDTH = 10_000_000L;
    private static final int LONGEST_UPTIME = 64;
    private static final int FIRST_LOOKS = 16;

    private final @Nullable RandomAccessFile uptime;
    private final byte[] text = new byte[LONGEST_UPTIME];
    private final AtomicLong ahead = new AtomicLong(Long.MIN_VALUE);
    private final AtomicLong last = new AtomicLong(Long.MIN_VALUE);

    private SuspendClock() {
        this.uptime = open();
        // The first look may be off by as long as the thread was kept from looking on: a few make that unlikely.
        for (int look = 0; look < FIRST_LOOKS; look++) {
            now();
        }
    }

    private static @Nullable RandomAccessFile open() {
        try {
            return new RandomAccessFile("/proc/uptime", "r");
        } catch (IOException noSuchFile) {
            return null;
        }
    }

    @Override
    public long now() {
        long now = System.nanoTime();
        long slept = uptime == null ? 0 : ahead.accumulateAndGet(readAhead(uptime), Math::max);
        return last.accumulateAndGet(now + slept, Math::max);
    }

    private long readAhead(RandomAccessFile file) {
        synchronized (text) {
            try {
                file.seek(0);
                int length = file.read(text);
                // Read after the file: what passes in between makes the difference smaller, not larger.
                return parse(new String(text, 0, Math.max(length, 0), StandardCharsets.US_ASCII)) - System.nanoTime();
            } catch (IOException | NumberFormatException unreadable) {
                return ahead.get() == Long.MIN_VALUE ? -System.nanoTime() : ahead.get();
            }
        }
    }

    /** The nanoseconds that "12345.67 890.12" begins with. */
    static long parse(String text) {
        int point = text.indexOf('.');
        if (point < 0 || text.length() < point + 3) {
            throw new NumberFormatException(text);
        }
        long hundredths =
                Long.parseLong(text.substring(0, point)) * 100 + Long.parseLong(text.substring(point + 1, point + 3));
        return hundredths * NANOS_PER_HUNDREDTH;
    }
}
