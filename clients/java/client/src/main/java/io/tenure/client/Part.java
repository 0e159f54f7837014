package io.tenure.client;

import io.tenure.client.protocol.Presence;
import io.tenure.client.protocol.Status;
import io.tenure.client.transport.Clock;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * A claim, a membership, or a session itself.
 *
 * @param isOwn whether the session was opened for it, and is closed with it
 */
record Part(Presence presence, Session session, boolean isOwn) {
    /** Withdraws it, in the background. */
    void withdraw() {
        presence.withdraw(Clock.now());
        session.connection().change(protocol -> {
            protocol.withdraw(presence, Clock.now());
            if (isOwn) {
                protocol.withdraw(session.presence(), Clock.now());
            }
        });
    }

    /** Withdraws it. Completed when the server has ended it; fails with {@code Lost} if it had been lost before. */
    CompletableFuture<@Nullable Void> end() {
        LostReason lost = presence.withdraw(Clock.now());
        if (lost != null) {
            return CompletableFuture.failedFuture(new TenureException.Lost(lost));
        }
        withdraw();
        return session.connection().end(presence).thenApply(end -> {
            if (end instanceof Status.Confirmed) {
                return null;
            }
            LostReason reason = end instanceof Status.Lost is ? is.reason() : LostReason.of(LostReason.Kind.FORGOTTEN);
            throw new CompletionException(new TenureException.Lost(reason));
        });
    }
}
