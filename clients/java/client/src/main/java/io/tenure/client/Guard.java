package io.tenure.client;

import io.tenure.client.transport.Clock;
import io.tenure.client.transport.Connection;
import io.tenure.client.v1.LockServiceGrpc;
import io.tenure.client.v1.TransferRequest;
import io.tenure.client.v1.UpdateClaimRequest;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Owns a hold, until it is released or closed: a guard that is neither is held until its client is closed. */
public final class Guard extends Hold implements AutoCloseable {
    private final Part part;

    Guard(Part part, List<String> names, long token, @Nullable Progress progress) {
        super(part.presence(), names, token, progress);
        this.part = part;
    }

    /** A view of the hold, to pass on. */
    public Hold hold() {
        return this;
    }

    /** The session that holds it. */
    public Session session() {
        return part.session();
    }

    /**
     * Releases the locks, and returns when the server has released them.
     *
     * @throws TenureException.Lost if the hold had been lost before, even if only the server knows that
     * @throws TenureException.Unavailable if no server answered in time: the release is then repeated in the background
     */
    public void release() throws InterruptedException {
        Obtaining.await(releaseAsync());
    }

    /** As {@link #release}. */
    public CompletableFuture<@Nullable Void> releaseAsync() {
        return part.end();
    }

    /**
     * Releases the locks, and waits for that unless the thread is interrupted. Errors are only logged: work that has to know calls
     * {@link #release}. No effect after a release or a loss, except that a session which was opened for the hold is closed.
     */
    @Override
    public void close() {
        if (isValid()) {
            Session.awaitQuietly(releaseAsync(), "the lock was not released cleanly");
        } else {
            part.withdraw();
        }
    }

    void withdraw() {
        part.withdraw();
    }

    /**
     * Hands the locks over to a session that waits for them (null: to the first in the queue), in one step and without a gap in which
     * they have no holder. Returns the next holder's token. The work must have stopped: from the call on, this hold is no longer valid,
     * and if the handoff fails, the locks are released.
     *
     * @throws TenureException.Refused with {@code TRANSFER_IMPOSSIBLE} if no waiter could hold next
     */
    public long transferTo(@Nullable String sessionId) throws InterruptedException {
        LostReason lost = part.presence().withdraw(Clock.now());
        if (lost != null) {
            throw new TenureException.Lost(lost);
        }
        TransferRequest.Builder request = TransferRequest.newBuilder()
                .setName(names().get(0))
                .setSessionId(session().id())
                .setToken(token())
                .setToSessionId(sessionId == null ? "" : sessionId);
        try {
            return connection()
                    .call(LockServiceGrpc.getTransferMethod(), request)
                    .getToken();
        } finally {
            part.withdraw();
        }
    }

    /** Replaces the labels of the claim: at most 4096 bytes. */
    public void updateMetadata(Map<String, String> metadata) throws InterruptedException {
        UpdateClaimRequest.Builder request = UpdateClaimRequest.newBuilder()
                .setName(names().get(0))
                .setSessionId(session().id())
                .setToken(token())
                .putAllMetadata(metadata);
        connection().call(LockServiceGrpc.getUpdateClaimMethod(), request);
    }

    private Connection connection() {
        return session().connection();
    }
}
