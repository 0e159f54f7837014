package io.tenure.client;

import java.time.Instant;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Something that happened to one group.
 *
 * @param revision the namespace's revision that this event made
 * @param group the group
 * @param kind what happened
 * @param member the member that joined or left
 * @param endReason why the member left, if it did
 * @param leader the number of the member that leads after this event; 0: nobody. Not told of a config
 * @param token the leader's token; 0 without a leader. Not told of a config
 * @param config the config that was set; null if it was cleared
 * @param time the wall clock of the server that wrote it, for people
 */
public record GroupEvent(
        long revision,
        String group,
        Kind kind,
        @Nullable GroupMember member,
        @Nullable EndReason endReason,
        long leader,
        long token,
        @Nullable String config,
        @Nullable Instant time) {
    /** What can happen to a group. */
    public enum Kind {
        /** A member joined. */
        JOINED,
        /** A member left. */
        LEFT,
        /** The config was set or cleared. */
        CONFIGURED,
        /** The leader assigned something to every member. */
        ASSIGNED,
        /** A kind that this version does not know. */
        UNKNOWN;

        /** The kind in one lowercase word. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
