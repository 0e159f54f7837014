package io.tenure.client;

import io.tenure.client.internal.SessionPresence;
import io.tenure.client.internal.Validity;
import io.tenure.client.internal.engine.Opened;
import io.tenure.client.internal.link.Link;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * This program's presence at the service. What it holds and waits for ends when it ends. Keeps itself alive in the background until
 * it, or the client, is closed.
 */
public final class Session implements AutoCloseable {
    private final TenureClient client;
    private final Opened opened;

    Session(TenureClient client, Opened opened) {
        this.client = client;
        this.opened = opened;
    }

    /** Its id. */
    public String id() {
        return opened.id();
    }

    /** Its owner label. */
    public String owner() {
        return opened.owner();
    }

    /** The TTL that the server granted. */
    public Duration ttl() {
        return Duration.ofNanos(presence().ttl());
    }

    /** The disconnect grace that the server granted. Null: none. */
    public @Nullable Duration disconnectGrace() {
        long grace = presence().grace();
        return grace == Validity.NO_GRACE ? null : Duration.ofNanos(grace);
    }

    /**
     * Whether the server cannot have given its locks away, decided by the clock at this very moment: a process that was paused for
     * too long gets {@code false} on waking. Once {@code false} it stays so.
     */
    public boolean isValid() {
        return presence().isValid();
    }

    /**
     * When the session is lost if nothing more is heard from the server, as the wall clock is set now; now, once it is lost. For
     * people: to decide whether it is valid, ask {@link #isValid}.
     */
    public Instant validUntil() {
        return Instant.now().plusNanos(presence().left());
    }

    /** Where it stands, decided by the clock at this very moment. */
    public SessionState state() {
        return presence().check();
    }

    /** Why it is lost. Null: it is not. */
    public @Nullable LostReason lostReason() {
        return presence().lost();
    }

    /** Calls the listener with each new state, on a thread of the client; changes that follow each other fast may be told as one. */
    public void onState(Consumer<SessionState> listener) {
        presence().listen(() -> Pending.execute(link().callbacks(), () -> listener.accept(state())));
    }

    /** Completed when the session is lost: before the server could give its locks away, or as soon as the server says so. */
    public CompletableFuture<LostReason> lost() {
        CompletableFuture<LostReason> lost = new CompletableFuture<>();
        Runnable listener = () -> {
            LostReason reason = presence().lost();
            if (reason != null) {
                Pending.execute(link().callbacks(), () -> lost.complete(reason));
            }
        };
        presence().listen(listener);
        lost.whenComplete((reason, error) -> presence().forget(listener));
        return lost;
    }

    /** Asks for a lock in this session: see {@link LockRequest}. */
    public LockRequest lock(String name) {
        return LockRequest.inSession(this, List.of(name));
    }

    /** Asks for several locks at once, all or nothing, with one token: 1 to 16 different names. */
    public LockRequest locks(String... names) {
        return LockRequest.inSession(this, List.of(names));
    }

    /** Asks for several locks at once, all or nothing, with one token: 1 to 16 different names. */
    public LockRequest locks(List<String> names) {
        return LockRequest.inSession(this, names);
    }

    /** Takes part in a group as a member of this session: all that the session holds and joins ends together. */
    public GroupRequest group(String name) {
        return new GroupRequest(client, name).inSession(this);
    }

    /**
     * Closes the session, and with it all that it holds and waits for; does not wait for the server's answer for longer than a call
     * may take. If none comes, the session ends by its TTL at the latest.
     */
    @Override
    public void close() {
        client.awaitQuietly(closeAsync(), "the session was not closed cleanly");
    }

    /** As {@link #close}. Fails with {@link TenureException.Unavailable} if no server answered in time. */
    public CompletableFuture<Void> closeAsync() {
        Pending<Void> reply = new Pending<>();
        link().ask(reply, (engine, now) -> engine.close(id(), presence(), link().giveUp(), reply, now));
        return reply.published(link(), nothing -> {});
    }

    /** Closes it in the background. */
    void drop() {
        link().ask((engine, now) -> engine.closeUnasked(id(), presence(), now));
    }

    Opened opened() {
        return opened;
    }

    SessionPresence presence() {
        return opened.presence();
    }

    TenureClient client() {
        return client;
    }

    private Link link() {
        return client.link();
    }
}
