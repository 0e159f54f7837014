package io.tenure.client;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * With whom a claim can share its locks.
 *
 * @param kind which of them
 * @param permits how many permits of each lock: 1 to 1,000,000; 0 unless it is {@link Kind#PERMITS}
 * @param limit how many may be out at once; null asks for whatever the lock's limit is
 */
public record Mode(Kind kind, int permits, @Nullable Integer limit) {
    /** With nobody. */
    public static final Mode EXCLUSIVE = new Mode(Kind.EXCLUSIVE, 0, null);
    /** With other shared claims. One that waits for exclusive use lets no later shared one pass. */
    public static final Mode SHARED = new Mode(Kind.SHARED, 0, null);

    /** With other claims to permits, as long as no more than the limit are out: a semaphore. */
    public static Mode permits(int permits, @Nullable Integer limit) {
        return new Mode(Kind.PERMITS, permits, limit);
    }

    /** The kinds of modes. */
    public enum Kind {
        /** With nobody. */
        EXCLUSIVE,
        /** With other shared claims. */
        SHARED,
        /** With other claims to permits. */
        PERMITS,
        /** A mode that this version does not know. */
        UNKNOWN;

        /** The kind in one lowercase word. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
