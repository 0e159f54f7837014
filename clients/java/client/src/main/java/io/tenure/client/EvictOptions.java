package io.tenure.client;

/**
 * How to evict a holder.
 *
 * @param operator on whose behalf, for history: 1 to 255 bytes
 * @param token only the hold with this token; 0: whoever holds the lock
 * @param note why, for history: at most 255 bytes
 */
public record EvictOptions(String operator, long token, String note) {
    /** Whoever holds the lock, on behalf of this operator. */
    public static EvictOptions by(String operator) {
        return new EvictOptions(operator, 0, "");
    }

    /** Only the hold with this token. */
    public EvictOptions token(long only) {
        return new EvictOptions(operator, only, note);
    }

    /** Why, for history. */
    public EvictOptions note(String why) {
        return new EvictOptions(operator, token, why);
    }
}
