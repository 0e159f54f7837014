package io.tenure.client;

import io.tenure.client.protocol.Presence;
import io.tenure.client.protocol.Validity;
import io.tenure.client.transport.Clock;
import io.tenure.client.transport.Connection;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * This program's presence at the service. All its holds and waits end with it. Renewed in the background until it, or the client, is
 * closed.
 */
public final class Session implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(Session.class.getName());

    private final Connection connection;
    private final Presence presence;
    private final SessionOptions options;

    Session(Connection connection, Presence presence, SessionOptions options) {
        this.connection = connection;
        this.presence = presence;
        this.options = options;
    }

    /** Its id. */
    public String id() {
        return String.valueOf(options.id());
    }

    /** The options that it was opened with, with its id. */
    public SessionOptions options() {
        return options;
    }

    /**
     * Whether the server cannot have ended the session, decided by the clock at this moment: a process that was paused for too long
     * gets {@code false} when it resumes. Once {@code false} it stays so.
     */
    public boolean isValid() {
        return lostReason() == null;
    }

    /**
     * When the session is lost without another renewal, by the wall clock as it is set now; now once it is lost. For people: to decide
     * whether it is valid, call {@link #isValid}.
     */
    public Instant validUntil() {
        Validity validity = presence.validity();
        boolean isOver = validity == null || !isValid();
        return Instant.now().plusNanos(isOver ? 0 : Math.max(validity.until() - Clock.now(), 0));
    }

    /** The session's state, decided by the clock at this moment. */
    public SessionState state() {
        Validity validity = presence.validity();
        if (!isValid()) {
            return SessionState.LOST;
        }
        return validity != null && Clock.now() >= validity.atRiskFrom() ? SessionState.AT_RISK : SessionState.HEALTHY;
    }

    /** Why the session is lost, decided by the clock at this moment. Null: it is not. */
    public @Nullable LostReason lostReason() {
        return presence.lostReason(Clock.now());
    }

    /** Calls the listener with the state, now and after each change, on a thread of the client. */
    public void onState(Consumer<SessionState> listener) {
        presence.listen(new Runnable() {
            private @Nullable SessionState last;

            @Override
            public synchronized void run() {
                SessionState now = state();
                if (now != last) {
                    last = now;
                    Connection.CALLBACKS.execute(() -> listener.accept(state()));
                }
                Validity validity = presence.validity();
                if (now == SessionState.HEALTHY && validity != null) {
                    connection.later(Math.max(validity.atRiskFrom() - Clock.now(), 0), this);
                }
            }
        });
    }

    /** Completed when the session is lost: before the server could end it, or as soon as it reports the end. */
    public CompletableFuture<LostReason> lost() {
        return Connection.when(presence, this::lostReason);
    }

    /** Requests a lock in this session: see {@link LockRequest}. */
    public LockRequest lock(String name) {
        return locks(List.of(name));
    }

    /** Requests several locks at once, all or nothing, with one token: 1 to 16 different names. */
    public LockRequest locks(List<String> names) {
        return new LockRequest(new Target(connection, this), names);
    }

    /** Requests a membership in a group, as this session: see {@link GroupRequest}. */
    public GroupRequest group(String name) {
        return new GroupRequest(new Target(connection, this), name);
    }

    /**
     * Closes the session, with all its holds and waits, and waits for that unless the thread is interrupted. If no server answers
     * within the time of a call, which is only logged, the session ends by its TTL at the latest.
     */
    @Override
    public void close() {
        awaitQuietly(closeAsync(), "the session was not closed cleanly");
    }

    /** As {@link #close}. Fails with {@link TenureException.Unavailable} if no server answered in time. */
    public CompletableFuture<@Nullable Void> closeAsync() {
        new Part(presence, this, false).withdraw();
        return connection.end(presence).thenApply(end -> null);
    }

    /** Waits, and only logs an error. An interrupt ends the wait, not what is waited for. */
    static void awaitQuietly(CompletableFuture<?> result, String complaint) {
        try {
            Obtaining.await(result);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } catch (TenureException error) {
            LOG.log(System.Logger.Level.WARNING, "{0}: {1}", complaint, error.getMessage());
        }
    }

    Presence presence() {
        return presence;
    }

    Connection connection() {
        return connection;
    }
}
