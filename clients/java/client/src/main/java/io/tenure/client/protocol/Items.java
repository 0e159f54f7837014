package io.tenure.client.protocol;

import io.tenure.client.LostReason;
import io.tenure.client.v1.Change;
import io.tenure.client.v1.EndReason;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** What a client has, by number, and its current stream. */
final class Items {
    private static final Set<EndReason> BY_CLIENT =
            Set.of(EndReason.END_REASON_RELEASED, EndReason.END_REASON_TRANSFERRED, EndReason.END_REASON_CLOSED);

    final TreeMap<Long, Presence> items = new TreeMap<>();
    /** Those whose sessions are renewed only while there is progress. */
    final Set<Presence> needy = new HashSet<>();

    @Nullable
    Stream stream;
    /** The bytes of the declarations that were sent, and that no server has confirmed. */
    int unconfirmed;
    /** The token of a hold from before the last loss of history is less than this one. */
    long lostRevision;

    List<Presence> found(Predicate<Presence> is) {
        return items.values().stream().filter(is).toList();
    }

    /** The sessions that have been reported as open, and are wanted. */
    List<Presence> openSessions() {
        return found(item -> item.isSession() && item.status() instanceof Status.Open);
    }

    void send(Change.Builder change, long now) {
        if (stream != null) {
            stream.send(change.build(), now);
        }
    }

    void leave() {
        if (stream != null) {
            stream.isLeft = true;
        }
    }

    /** Ends what this client must not use any more. The server may still have it: others need not wait for its end. */
    void abandon(Presence item, Status.End end, long now) {
        end(item, end, now);
        send(Change.newBuilder().setWithdraw(item.number), now);
    }

    /** Ends it, and then everything in it: a claim that ended with its session was not lost alone. */
    void end(Presence item, Status.End end, long now) {
        if (items.remove(item.number) == null) {
            return;
        }
        needy.remove(item);
        unconfirmed -= item.unconfirmed;
        item.session.parts.remove(item);
        boolean isByClient = item.isWithdrawn() && end instanceof Status.Lost lost && isByClient(item, lost.reason());
        item.set(isByClient ? new Status.Confirmed() : end, now);
        List.copyOf(item.parts).forEach(part -> end(part, end, now));
    }

    /** Whether a withdrawal of this item leads to such an end. */
    private boolean isByClient(Presence item, LostReason reason) {
        return switch (reason.kind()) {
            // Others may have held its locks, if it is from before the last loss of history.
            case FORGOTTEN -> item.token == 0 || item.token >= lostRevision;
            case ENDED -> BY_CLIENT.contains(reason.ended().getReason());
            default -> false;
        };
    }
}
