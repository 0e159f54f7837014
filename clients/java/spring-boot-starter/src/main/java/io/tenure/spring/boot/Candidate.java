package io.tenure.spring.boot;

import io.tenure.client.Election;
import io.tenure.client.Hold;
import io.tenure.client.LeadershipListener;
import io.tenure.client.Leading;
import io.tenure.client.LostReason;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/** This program's part in one election, and the calls that run while it leads. */
final class Candidate implements LeadershipListener {
    private final Election election;
    private final TenureObserver observer;
    private final Set<Interruption> running = new HashSet<>();
    private @Nullable Leading leading;
    private @Nullable Hold leadership;

    Candidate(Election election, TenureObserver observer) {
        this.election = election;
        this.observer = observer;
    }

    /** Takes part from now on. */
    synchronized void start() {
        observer.leading(election.name(), false);
        leading = election.start(this);
    }

    /** Resigns and stops, when the calls that run have come to their ends. */
    void stop() {
        Leading stopped;
        synchronized (this) {
            stopped = leading;
            leading = null;
        }
        if (stopped != null) {
            stopped.close();
        }
    }

    @Override
    public synchronized void elected(Hold hold) {
        leadership = hold;
        observer.leading(election.name(), true);
    }

    @Override
    public synchronized void revoked(Hold hold) {
        leadership = null;
        observer.leading(election.name(), false);
        running.forEach(Interruption::fire);
        CompletableFuture<LostReason> lost = hold.lost();
        lost.thenRun(this::wake);
        awaitEnds(hold);
        lost.cancel(false);
        LostReason reason = hold.lostReason();
        if (reason != null) {
            observer.lost(reason);
        }
    }

    /** Nobody else leads before this returns, unless the leadership is lost. An interrupt only says again what is known. */
    private synchronized void awaitEnds(Hold hold) {
        boolean isInterrupted = false;
        while (!running.isEmpty() && hold.isValid()) {
            try {
                wait();
            } catch (InterruptedException again) {
                isInterrupted = true;
            }
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void wake() {
        notifyAll();
    }

    /** Calls a method, if this program leads. */
    @Nullable
    Object call(MethodInvocation method) throws Throwable {
        Interruption interruption = new Interruption();
        Hold hold = enter(interruption);
        if (hold == null) {
            return null;
        }
        try {
            return UnderHold.call(hold, interruption, method);
        } finally {
            leave(interruption);
        }
    }

    private synchronized @Nullable Hold enter(Interruption interruption) {
        Hold hold = leadership;
        // What is to be handed over is not begun with again.
        if (hold == null || !hold.isValid() || hold.transferRequest() != null) {
            return null;
        }
        running.add(interruption);
        return hold;
    }

    private synchronized void leave(Interruption interruption) {
        running.remove(interruption);
        notifyAll();
    }
}
