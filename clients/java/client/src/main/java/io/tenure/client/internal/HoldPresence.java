package io.tenure.client.internal;

import io.tenure.client.LostReason;
import io.tenure.client.TransferRequest;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** One hold's validity: its session's, unless the hold ended before. */
public final class HoldPresence {
    private final SessionPresence session;
    private final List<String> names;
    private final long token;
    private final @Nullable Ticks ticks;
    private final Clock clock;
    /** Told of each change, on the thread that sees it first. */
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();

    private final Runnable sessionListener = this::sessionChanged;

    private @Nullable LostReason ended;
    private @Nullable TransferRequest handoff;

    public HoldPresence(SessionPresence session, List<String> names, long token, @Nullable Ticks ticks, Clock clock) {
        this.session = session;
        this.names = names;
        this.token = token;
        this.ticks = ticks;
        this.clock = clock;
        session.listen(sessionListener);
    }

    public List<String> names() {
        return names;
    }

    public long token() {
        return token;
    }

    /** The work under the hold gets on. */
    public void tick() {
        if (ticks != null) {
            ticks.tick(clock.now());
        }
    }

    public boolean isValid() {
        return lost() == null;
    }

    /** Why it is lost, if it is, decided by the clock at this very moment. */
    public @Nullable LostReason lost() {
        // Another thread may know that the session is lost, and not have told this yet.
        LostReason lost = session.lost();
        if (lost != null) {
            end(lost);
        }
        synchronized (this) {
            return ended;
        }
    }

    /** Ends it. The first reason stays. Answers whether it is this one. */
    public boolean end(LostReason reason) {
        synchronized (this) {
            if (ended != null) {
                return false;
            }
            ended = reason;
        }
        session.forget(sessionListener);
        listeners.forEach(Runnable::run);
        return true;
    }

    /**
     * Ends it because the program wants no more of it. What was lost before stays lost: answers why.
     */
    public @Nullable LostReason endAsReleased() {
        LostReason lost = lost();
        if (lost == null && end(LostReason.of(LostReason.Kind.RELEASED))) {
            return null;
        }
        return lost();
    }

    /** The server asks for a handoff. */
    public void handOver(TransferRequest request) {
        synchronized (this) {
            handoff = request;
        }
        listeners.forEach(Runnable::run);
    }

    /** The last request for a handoff, if there was one. */
    public synchronized @Nullable TransferRequest handoff() {
        return handoff;
    }

    /** Calls it after each change, and once at once. It has to be quick. */
    public void listen(Runnable listener) {
        listeners.add(listener);
        listener.run();
    }

    public void forget(Runnable listener) {
        listeners.remove(listener);
    }

    private void sessionChanged() {
        LostReason lost = session.lost();
        if (lost != null) {
            end(lost);
        }
    }
}
