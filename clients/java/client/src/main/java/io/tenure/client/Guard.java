package io.tenure.client;

import io.tenure.client.internal.HoldPresence;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what is held, until it is released or closed. Nothing else gives it back: a guard that is forgotten is held on until the
 * client is closed.
 */
public final class Guard extends Hold implements AutoCloseable {
    private final Session session;
    private final long claim;

    Guard(Session session, long claim, HoldPresence presence) {
        super(presence, session.client().link());
        this.session = session;
        this.claim = claim;
    }

    /** A view of what is held, to hand to others. */
    public Hold hold() {
        return this;
    }

    /** The session that holds it. */
    public Session session() {
        return session;
    }

    /**
     * Gives the locks back, and returns when the server has done so.
     *
     * @throws TenureException.Lost if the hold had been lost before, even if only the server knows that
     * @throws TenureException.Refused if the server knows of no such hold
     * @throws TenureException.Unavailable if no server answered in time: it is then tried further in the background
     */
    public void release() throws InterruptedException {
        Pending.await(asked());
    }

    /** As {@link #release}. */
    public CompletableFuture<Void> releaseAsync() {
        return asked().published(link(), nothing -> {});
    }

    private Pending<Void> asked() {
        Pending<Void> reply = new Pending<>();
        LostReason lost = presence().endAsReleased();
        if (lost != null) {
            reply.completeExceptionally(new TenureException.Lost(lost));
            return reply;
        }
        link().ask(reply, (engine, now) -> engine.release(session.id(), claim, link().giveUp(), reply, now));
        return reply;
    }

    /**
     * Gives the locks back, and waits for that unless the thread is interrupted. What goes wrong is only logged: work that has to
     * know calls {@link #release}. Does nothing after a release or a loss.
     */
    @Override
    public void close() {
        if (presence().isValid()) {
            session.client().awaitQuietly(asked(), "the lock was not given back cleanly");
        }
    }

    /** Gives the locks back in the background. */
    void drop() {
        presence().endAsReleased();
        link().ask((engine, now) -> engine.dropClaim(session.id(), claim, now));
    }

    /**
     * Hands the locks over to a session that waits for them (null: to whoever is first in the queue), in one step and without a gap
     * in which nobody holds them. Answers the next holder's token. The work must have stopped: from the call on this hold is not
     * valid any more, and if nothing comes of the handoff the locks are given back.
     *
     * @throws TenureException.Refused with {@code TRANSFER_IMPOSSIBLE} if nobody waits who could hold next
     */
    public long transferTo(@Nullable String sessionId) throws InterruptedException {
        LostReason lost = presence().endAsReleased();
        if (lost != null) {
            throw new TenureException.Lost(lost);
        }
        try {
            return session.client().handOver(names().get(0), session.id(), token(), sessionId);
        } finally {
            drop();
        }
    }

    /** Replaces the labels of the claim. */
    public void update(Map<String, String> metadata) throws InterruptedException {
        session.client().updateClaim(names().get(0), session.id(), token(), metadata);
    }
}
