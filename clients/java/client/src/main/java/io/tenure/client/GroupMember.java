package io.tenure.client;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One session's membership.
 *
 * @param number the member's number: rises in order of joining
 * @param sessionId the session that joined
 * @param owner the owner label of that session
 * @param metadata what the session attached to its membership
 * @param assignment what the leader assigned to it last. Null: nothing since it joined
 */
public record GroupMember(
        long number, String sessionId, String owner, Map<String, String> metadata, @Nullable String assignment) {
    public GroupMember {
        metadata = Map.copyOf(metadata);
    }
}
