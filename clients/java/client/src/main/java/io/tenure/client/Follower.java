package io.tenure.client;

import io.tenure.client.internal.Backoff;
import io.tenure.client.internal.engine.WatchSink;
import io.tenure.client.internal.link.Link;
import io.tenure.client.v1.WatchRequest;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Keeps where a member stands up to date, until the membership is lost or nobody wants to know any more. */
final class Follower implements WatchSink {
    private final Link link;
    private final Membership membership;
    private final WatchRequest request;
    private final Backoff backoff = Backoff.ofRounds();
    private volatile boolean isClosed;

    Follower(TenureClient client, Membership membership) {
        this.link = client.link();
        this.membership = membership;
        this.request = Watch.request(WatchOptions.ofGroups(membership.groupName()));
    }

    void start() {
        link.ask((engine, now) -> {
            if (!isClosed) {
                engine.startWatch(this, request, now);
            }
        });
    }

    void close() {
        isClosed = true;
        link.ask((engine, now) -> engine.dropWatch(this));
    }

    @Override
    public boolean offer(WatchEvent event) {
        backoff.reset();
        if (event instanceof WatchEvent.Snapshot snapshot) {
            told(snapshot.groups(), List.of());
        } else if (event instanceof WatchEvent.Events events) {
            told(events.groups(), events.groupEvents());
        }
        return true;
    }

    private void told(List<Group> groups, List<GroupEvent> events) {
        for (GroupEvent event : events) {
            GroupMember member = event.member();
            EndReason reason = event.endReason();
            boolean isOwn = member != null && member.number() == membership.number();
            if (isOwn && event.kind() == GroupEvent.Kind.LEFT && reason != null) {
                membership.lose(LostReason.ended(reason, null, null));
                return;
            }
        }
        for (Group group : groups) {
            if (!group.name().equals(membership.groupName())) {
                continue;
            }
            if (group.member(membership.number()).isEmpty()) {
                membership.lose(LostReason.of(LostReason.Kind.FORGOTTEN));
            } else {
                membership.takeOver(group);
            }
        }
    }

    @Override
    public boolean pause() {
        // Never asked for: there always is room.
        return true;
    }

    @Override
    public void end(@Nullable TenureException error) {
        if (error == null) {
            membership.lose(LostReason.of(LostReason.Kind.CLOSED));
        } else if (!isClosed) {
            CompletableFuture.delayedExecutor(backoff.next(), TimeUnit.NANOSECONDS)
                    .execute(this::start);
        }
    }
}
