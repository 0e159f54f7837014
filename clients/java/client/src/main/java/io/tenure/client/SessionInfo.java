package io.tenure.client;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An open session, as the server sees it.
 *
 * @param id its id
 * @param openedRevision the revision of the event that opened it
 * @param ttl how long it lives without a renewal
 * @param owner who it is, for people
 * @param metadata free labels
 * @param home the server that takes its renewals
 * @param claims what it holds and waits for, in the order in which it was asked for
 * @param remaining how long it lives on, at least, if its stream does. Null unless the answering server is its home
 * @param disconnectGrace how long it outlives the stream that it is attached to. Null: until its TTL has passed
 */
public record SessionInfo(
        String id,
        long openedRevision,
        Duration ttl,
        String owner,
        Map<String, String> metadata,
        long home,
        List<Claim> claims,
        @Nullable Duration remaining,
        @Nullable Duration disconnectGrace) {
    public SessionInfo {
        metadata = Map.copyOf(metadata);
        claims = List.copyOf(claims);
    }
}
