package io.tenure.client;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Where a member stands in its group.
 *
 * @param number the member's number
 * @param group the group, as it was heard of last
 * @param lost why the membership is lost, if it is. The others may go on without this member
 */
public record Standing(long number, Group group, @Nullable LostReason lost) {
    /** What is assigned to this member. Empty if nothing is, and after a loss. */
    public Optional<String> assignment() {
        return lost != null ? Optional.empty() : group.member(number).map(GroupMember::assignment);
    }

    /**
     * Whether that is the assignment for the members and the config that are there now. If not, the leader has yet to compute it.
     */
    public boolean isCurrent() {
        return lost == null && group.assignmentsCurrent();
    }

    /** Whether this member leads. */
    public boolean leads() {
        return token() != 0;
    }

    /** The token by which this member leads; 0 if it does not. */
    public long token() {
        Group.Leader leader = group.leader();
        return lost == null && leader != null && leader.member() == number ? leader.token() : 0;
    }
}
