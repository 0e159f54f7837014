package io.tenure.client.internal;

import io.tenure.client.LostReason;
import io.tenure.client.SessionState;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** What handles and the engine know together of one session: its validity, decided by the clock at the moment of asking. */
public final class SessionPresence {
    private final Clock clock;
    private final Validity validity;
    /** Told of each change, on the thread that sees it first. */
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();

    private SessionState state = SessionState.HEALTHY;
    private @Nullable LostReason lost;
    /** Whether a renewal is due and held back. */
    private volatile boolean stalled;

    public SessionPresence(Clock clock, long ttl, long grace, long sent) {
        this.clock = clock;
        this.validity = new Validity(ttl, grace, sent);
    }

    /** Where the session stands now. */
    public SessionState check() {
        return check(clock.now());
    }

    /** Where the session stands. Whoever sees first that its time is over makes it so for everyone. */
    public SessionState check(long now) {
        boolean changed;
        SessionState seen;
        synchronized (this) {
            changed = publish(validity.phase(now));
            seen = state;
        }
        tell(changed);
        return seen;
    }

    public boolean isValid() {
        return check() != SessionState.LOST;
    }

    /** Why it is lost, if it is. */
    public @Nullable LostReason lost() {
        check();
        synchronized (this) {
            return lost;
        }
    }

    /** A renewal was answered. */
    public void renewed(long ttl, long sent, long now) {
        synchronized (this) {
            validity.renewed(ttl, sent, now);
        }
        check(now);
    }

    /** A command to attach it was answered. */
    public void attached(long ttl, long grace, long sent, long now) {
        synchronized (this) {
            validity.attached(ttl, grace, sent, now);
        }
        check(now);
    }

    /** A renewal is held back for want of progress, or is not any more: why the session will be lost if it is. */
    public void setStalled(boolean isStalled) {
        stalled = isStalled;
    }

    /** Ends it. The first reason stays. */
    public void end(LostReason reason) {
        boolean changed;
        synchronized (this) {
            validity.end();
            changed = state != SessionState.LOST;
            if (changed) {
                state = SessionState.LOST;
                lost = reason;
            }
        }
        tell(changed);
    }

    public synchronized long nextChange(long now) {
        return validity.nextChange(now);
    }

    /** How long it is valid yet if nothing more is heard, in nanoseconds. */
    public long left() {
        long now = clock.now();
        if (check(now) == SessionState.LOST) {
            return 0;
        }
        synchronized (this) {
            return Clock.since(validity.until(), now);
        }
    }

    public synchronized long ttl() {
        return validity.ttl();
    }

    public synchronized long grace() {
        return validity.grace();
    }

    public synchronized long window() {
        return validity.window();
    }

    /** Calls it after each change, and once at once. It has to be quick. */
    public void listen(Runnable listener) {
        listeners.add(listener);
        listener.run();
    }

    public void forget(Runnable listener) {
        listeners.remove(listener);
    }

    private boolean publish(Validity.Phase phase) {
        if (state == SessionState.LOST) {
            return false;
        }
        SessionState next =
                switch (phase) {
                    case HEALTHY -> SessionState.HEALTHY;
                    case AT_RISK -> SessionState.AT_RISK;
                    case OVER -> SessionState.LOST;
                };
        if (next == SessionState.LOST) {
            lost = LostReason.of(stalled ? LostReason.Kind.STALLED : LostReason.Kind.EXPIRED);
        }
        boolean changed = next != state;
        state = next;
        return changed;
    }

    private void tell(boolean changed) {
        if (changed) {
            listeners.forEach(Runnable::run);
        }
    }
}
