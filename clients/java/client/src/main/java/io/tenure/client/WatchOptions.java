package io.tenure.client;

import java.util.List;

/**
 * What to watch. With neither names nor prefixes nor groups: all locks.
 *
 * @param names locks by name: at most 100
 * @param prefixes the locks whose names begin with one of these: at most 100
 * @param groups groups by name: at most 100
 * @param afterRevision begin with the events after this revision instead of a snapshot: the last one that an earlier watch told.
 *     Default 0: with a snapshot
 */
public record WatchOptions(List<String> names, List<String> prefixes, List<String> groups, long afterRevision) {
    public WatchOptions {
        names = List.copyOf(names);
        prefixes = List.copyOf(prefixes);
        groups = List.copyOf(groups);
    }

    /** All locks of the namespace. */
    public static WatchOptions all() {
        return new WatchOptions(List.of(), List.of(), List.of(), 0);
    }

    /** Locks by name. */
    public static WatchOptions ofNames(String... names) {
        return new WatchOptions(List.of(names), List.of(), List.of(), 0);
    }

    /** The locks whose names begin with this. */
    public static WatchOptions ofPrefix(String prefix) {
        return new WatchOptions(List.of(), List.of(prefix), List.of(), 0);
    }

    /** Groups by name. Only these: no locks. */
    public static WatchOptions ofGroups(String... groups) {
        return new WatchOptions(List.of(), List.of(), List.of(groups), 0);
    }

    /** Begin after this revision. */
    public WatchOptions after(long revision) {
        return new WatchOptions(names, prefixes, groups, revision);
    }
}
