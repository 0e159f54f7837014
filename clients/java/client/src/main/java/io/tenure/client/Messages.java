package io.tenure.client;

import io.tenure.client.v1.Claim;
import io.tenure.client.v1.ClaimState;
import io.tenure.client.v1.Group;
import io.tenure.client.v1.GroupMember;
import io.tenure.client.v1.Lock;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiFunction;

/** What programs read from the contract's messages. */
public final class Messages {
    private Messages() {}

    /** The first claim that holds a lock. A claim that only lingers is not a holder. */
    public static Optional<Claim> holder(Lock lock) {
        return lock.getHoldersList().stream()
                .filter(claim -> claim.getState() == ClaimState.CLAIM_STATE_HELD)
                .findFirst();
    }

    /** Assignments for all members, by their numbers: {@code value} returns a member's, given its index in the order of joining. */
    public static Map<Long, String> assign(Group group, BiFunction<Integer, GroupMember, String> value) {
        Map<Long, String> assignments = new TreeMap<>();
        for (int index = 0; index < group.getMembersCount(); index++) {
            GroupMember member = group.getMembers(index);
            assignments.put(member.getNumber(), value.apply(index, member));
        }
        return assignments;
    }
}
