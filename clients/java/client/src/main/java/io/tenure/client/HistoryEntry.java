package io.tenure.client;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Something in the history of a lock. Times are wall clocks of the servers that wrote them, for people. */
public sealed interface HistoryEntry {
    /**
     * A hold, from its grant to its end. What is no longer in history is null.
     *
     * @param claimId the claim's id: the revision of the event that created it
     * @param names all names of the claim, in byte order
     * @param token the fencing token
     * @param sessionId the session that held it
     * @param owner the session's owner label
     * @param metadata what was attached to the claim
     * @param priority the claim's priority among waiters
     * @param queued when it was asked for
     * @param granted when it was granted
     * @param waited how long the claim waited for the grant
     * @param held how long it was held, or has been held until now
     * @param longestPause the longest time without a renewal of the session during the hold. Close to the TTL: the holder was
     *     about to lose its locks
     * @param sinceRenewal for a hold that lasts: how long ago the session was renewed
     * @param ttl the TTL that the session was opened with
     * @param end how it ended. Null: it lasts
     */
    record Hold(
            long claimId,
            List<String> names,
            long token,
            String sessionId,
            String owner,
            Map<String, String> metadata,
            int priority,
            @Nullable Instant queued,
            @Nullable Instant granted,
            @Nullable Duration waited,
            @Nullable Duration held,
            @Nullable Duration longestPause,
            @Nullable Duration sinceRenewal,
            @Nullable Duration ttl,
            @Nullable End end)
            implements HistoryEntry {
        public Hold {
            names = List.copyOf(names);
            metadata = Map.copyOf(metadata);
        }
    }

    /**
     * How a hold ended.
     *
     * @param time when
     * @param reason why
     * @param operator the operator who ended it, if one did
     * @param note the operator's note
     */
    record End(Instant time, EndReason reason, @Nullable String operator, @Nullable String note) {}

    /**
     * The database lost a part of the history. Holds of that time are missing.
     *
     * @param afterRevision the last revision before the loss
     * @param revision the first revision after it
     * @param time when it was noticed
     */
    record Loss(long afterRevision, long revision, @Nullable Instant time) implements HistoryEntry {}
}
