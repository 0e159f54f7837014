package io.tenure.client;

import java.util.List;

/** What a watch tells. */
public sealed interface WatchEvent {
    /**
     * Everything that is watched, as it is at one revision. Comes first unless the watch was resumed, and after
     * {@link HistoryGone}.
     *
     * @param locks the locks that are held or waited for, and those watched by name even if they are idle
     * @param groups the groups that are watched, even if they are empty
     * @param revision all up to this revision has been told
     */
    record Snapshot(List<LockInfo> locks, List<Group> groups, long revision) implements WatchEvent {
        public Snapshot {
            locks = List.copyOf(locks);
            groups = List.copyOf(groups);
        }
    }

    /**
     * What happened in one commit, and how groups are after it.
     *
     * @param events what happened to locks, in order of revision
     * @param groupEvents what happened to groups, in order of revision
     * @param groups the watched groups that changed, as they are now. Of what is told late, only the last tells how a group is
     * @param revision all up to this revision has been told
     */
    record Events(List<LockEvent> events, List<GroupEvent> groupEvents, List<Group> groups, long revision)
            implements WatchEvent {
        public Events {
            events = List.copyOf(events);
            groupEvents = List.copyOf(groupEvents);
            groups = List.copyOf(groups);
        }
    }

    /**
     * Nothing happened to what is watched, up to this revision.
     *
     * @param revision all up to this revision has been told
     */
    record Progress(long revision) implements WatchEvent {}

    /**
     * The history after the last revision that was told is not there any more. A snapshot follows.
     *
     * @param cause why
     */
    record HistoryGone(Cause cause) implements WatchEvent {}

    /** Why history is gone. */
    enum Cause {
        /** It was dropped after the configured time. */
        COMPACTED,
        /** The database lost it: a failover to a copy that was behind, or a restore. */
        LOST,
        /** A cause that this version does not know. */
        UNKNOWN
    }
}
