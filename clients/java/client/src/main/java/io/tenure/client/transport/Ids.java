package io.tenure.client.transport;

import java.util.UUID;

/** Ids of clients and sessions. */
public final class Ids {
    private static final int TIME_SHIFT = 16;
    private static final long VERSION_7 = 0x7000;
    private static final long RANDOM = 0xFFF;

    private Ids() {}

    /** A fresh UUID, version 7: it begins with the time, so that lists of ids are in the order of their making. */
    public static String fresh() {
        UUID random = UUID.randomUUID();
        long time = System.currentTimeMillis() << TIME_SHIFT;
        long high = time | VERSION_7 | (random.getMostSignificantBits() & RANDOM);
        return new UUID(high, random.getLeastSignificantBits()).toString();
    }
}
