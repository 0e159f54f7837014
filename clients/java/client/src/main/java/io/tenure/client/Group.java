package io.tenure.client;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A named set of members with a leader, one shared config value and an assignment for each member.
 *
 * @param name its name
 * @param leader who leads: the member that has been there longest. Null without members
 * @param members the members in order of joining
 * @param membershipRevision the revision of the last event by which a member came or went; 0 if none ever did
 * @param config the shared value, if there is one
 * @param configRevision the revision of the event that set the config; 0 without one
 * @param assignmentsCurrent whether the assignments are those for these members and this config
 * @param assignmentsRevision the revision of the event of the last assignments; 0 if there were none
 */
public record Group(
        String name,
        @Nullable Leader leader,
        List<GroupMember> members,
        long membershipRevision,
        @Nullable String config,
        long configRevision,
        boolean assignmentsCurrent,
        long assignmentsRevision) {
    public Group {
        members = List.copyOf(members);
    }

    /** The member of this number. */
    public Optional<GroupMember> member(long number) {
        return members.stream().filter(member -> member.number() == number).findFirst();
    }

    /** Assignments for all members, by their numbers: what {@code value} says of each. */
    public Map<Long, String> assign(Share value) {
        Map<Long, String> assignments = new LinkedHashMap<>();
        for (int place = 0; place < members.size(); place++) {
            GroupMember member = members.get(place);
            assignments.put(member.number(), value.of(place, member));
        }
        return assignments;
    }

    /** What one member is assigned. */
    @FunctionalInterface
    public interface Share {
        /** The assignment of a member, given its place in the order of joining, from 0. */
        String of(int place, GroupMember member);
    }

    /**
     * Who leads a group.
     *
     * @param member the leader's number
     * @param token the leader's token, greater than that of every leader before
     * @param sessionId the leader's session
     * @param owner the owner label of that session
     */
    public record Leader(long member, long token, String sessionId, String owner) {}
}
