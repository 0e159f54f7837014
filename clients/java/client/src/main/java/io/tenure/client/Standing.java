package io.tenure.client;

import io.tenure.client.v1.Group;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The standing of a member in its group.
 *
 * @param number the member's number
 * @param group the last known state of the group
 * @param lost why the membership is lost; null: it is not. The group may continue without this member
 */
public record Standing(long number, Group group, @Nullable LostReason lost) {
    /** The assignment of this member. Empty without one, and after a loss. */
    public Optional<String> assignment() {
        return group.getMembersList().stream()
                .filter(member -> lost == null && member.getNumber() == number && member.hasAssignment())
                .map(member -> member.getAssignment())
                .findFirst();
    }

    /** Whether the assignment was computed from the current members and config. If not, the leader has yet to compute it. */
    public boolean isCurrent() {
        return lost == null && group.getAssignmentsCurrent();
    }

    /** Whether this member leads. */
    public boolean leads() {
        return token() != 0;
    }

    /** The token by which this member leads; 0: it does not. */
    public long token() {
        boolean leads = lost == null && group.hasLeader() && group.getLeader().getMember() == number;
        return leads ? group.getLeader().getToken() : 0;
    }
}
