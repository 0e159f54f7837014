package io.tenure.client;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One session's stake in one or more locks at once.
 *
 * @param id the revision of the event that created it; 0 if it is not known here
 * @param names the locks that are claimed, in byte order
 * @param state whether it waits or is held
 * @param token the fencing token; 0 while waiting
 * @param sessionId the session whose claim it is
 * @param owner that session's owner label
 * @param metadata what was attached to the claim
 * @param priority higher goes first among waiters
 * @param minHold for this long after the grant nobody is granted these locks again; zero: no minimum
 * @param mode with whom the locks can be shared
 * @param transfer the handoff that its holder has been asked for
 * @param deadlock the sessions that wait for each other in a circle, this one first; empty: none. Known only of waiting claims
 *     that were read, not of those that were watched
 */
public record Claim(
        long id,
        List<String> names,
        State state,
        long token,
        String sessionId,
        String owner,
        Map<String, String> metadata,
        int priority,
        Duration minHold,
        Mode mode,
        @Nullable PendingTransfer transfer,
        List<String> deadlock) {
    public Claim {
        names = List.copyOf(names);
        metadata = Map.copyOf(metadata);
        deadlock = List.copyOf(deadlock);
    }

    /** Where a claim stands. */
    public enum State {
        /** In the queue. */
        WAITING,
        /** Granted: its session holds the locks. */
        HELD,
        /** Released before its minimum hold was over: nobody holds the locks, and nobody is granted them yet. */
        LINGERING,
        /** A state that this version does not know. */
        UNKNOWN;

        /** The state in one lowercase word. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * A handoff that a holder has been asked for and has not confirmed yet.
     *
     * @param to the session that is to hold next; null: whoever is first in the queue then
     * @param drain for how long the holder may go on, counted from when it was asked
     */
    public record PendingTransfer(@Nullable String to, Duration drain) {}
}
