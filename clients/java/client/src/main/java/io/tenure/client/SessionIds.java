package io.tenure.client;

import java.security.SecureRandom;
import java.util.UUID;

/** Ids for sessions. */
final class SessionIds {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int VERSION = 7;
    private static final long VARIANT = 0x8000_0000_0000_0000L;

    private SessionIds() {}

    /** A UUID of version 7: the time in milliseconds, and random bits. */
    static String fresh() {
        long high = System.currentTimeMillis() << 16 | VERSION << 12 | RANDOM.nextInt(1 << 12);
        long low = RANDOM.nextLong() >>> 2 | VARIANT;
        return new UUID(high, low).toString();
    }
}
