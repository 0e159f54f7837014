package io.tenure.client;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How to hand over a lock that somebody else holds.
 *
 * @param operator on whose behalf, for history: 1 to 255 bytes
 * @param to the session that is to hold next, which must be waiting; empty: whoever is first in the queue
 * @param token only the hold with this token, needed if several hold the lock; 0: whoever holds it
 * @param drain for how long the holder may go on, to stop its work: 100 ms to 1 h. Null: 10 s
 * @param note why, for history: at most 255 bytes
 */
public record TransferOptions(String operator, String to, long token, @Nullable Duration drain, String note) {
    /** To whoever is first in the queue, on behalf of this operator. */
    public static TransferOptions by(String operator) {
        return new TransferOptions(operator, "", 0, null, "");
    }

    /** To this session. */
    public TransferOptions to(String sessionId) {
        return new TransferOptions(operator, sessionId, token, drain, note);
    }

    /** Only the hold with this token. */
    public TransferOptions token(long only) {
        return new TransferOptions(operator, to, only, drain, note);
    }

    /** For how long the holder may go on. */
    public TransferOptions drain(Duration time) {
        return new TransferOptions(operator, to, token, time, note);
    }

    /** Why, for history. */
    public TransferOptions note(String why) {
        return new TransferOptions(operator, to, token, drain, why);
    }
}
