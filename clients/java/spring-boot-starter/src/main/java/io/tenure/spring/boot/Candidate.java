package io.tenure.spring.boot;

import io.tenure.client.Election;
import io.tenure.client.Guard;
import io.tenure.client.Hold;
import io.tenure.client.LostReason;
import io.tenure.client.TenureException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/**
 * This program's candidacy in one election, on a thread of its own, and the calls that run while it leads. It continues after any
 * refusal, which may be due to a policy or credentials that are about to be replaced, but slowly.
 */
final class Candidate {
    private static final Logger LOG = System.getLogger(Candidate.class.getName());
    /** Between campaigns, after one that failed temporarily ... */
    private static final Duration PAUSE = Duration.ofMillis(200);
    /** ... and after one that was refused. */
    private static final Duration PAUSE_AFTER_REFUSAL = Duration.ofSeconds(5);

    private final Election election;
    private final TenureObserver observer;
    private final Set<Interruption> running = new HashSet<>();
    private @Nullable Thread thread;
    private boolean isStopped;
    private @Nullable Hold leadership;
    private @Nullable TenureException refusal;

    Candidate(Election election, TenureObserver observer) {
        this.election = election;
        this.observer = observer;
    }

    /** Campaigns from now on. */
    synchronized void start() {
        observer.leading(election.name(), false);
        observer.refused(election.name(), false);
        isStopped = false;
        thread = new Thread(this::campaign, "tenure-election-" + election.name());
        thread.setDaemon(true);
        thread.start();
    }

    /** Resigns and stops, when the calls that run have ended. */
    void stop() {
        Thread stopped;
        synchronized (this) {
            isStopped = true;
            stopped = thread;
            thread = null;
            notifyAll();
            if (stopped != null) {
                stopped.interrupt();
            }
        }
        try {
            if (stopped != null) {
                stopped.join();
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Why the last campaign was refused. Null: it was not. */
    synchronized @Nullable TenureException refusal() {
        return refusal;
    }

    private void campaign() {
        while (!isStopped()) {
            try (Guard guard = election.campaign()) {
                failed(null);
                lead(guard);
            } catch (InterruptedException stopped) {
                // By stop(), which has set the condition of this loop.
            } catch (TenureException error) {
                failed(error);
            }
        }
    }

    private synchronized boolean isStopped() {
        return isStopped;
    }

    private synchronized void failed(@Nullable TenureException error) {
        boolean isTemporary = error == null || error.isTransient() || error instanceof TenureException.Lost;
        refusal = isTemporary ? null : error;
        observer.refused(election.name(), refusal != null);
        if (error != null) {
            LOG.log(Level.WARNING, "the campaign for {0} failed, and starts over: {1}", election.name(), error);
            await((isTemporary ? PAUSE : PAUSE_AFTER_REFUSAL).toMillis());
        }
    }

    /** Leads until that is lost, to be handed over, or stopped; and then until the calls that run have ended, or it is lost. */
    private synchronized void lead(Guard guard) {
        CompletableFuture<Void> end =
                CompletableFuture.anyOf(guard.lost(), guard.transferRequested()).thenRun(this::wake);
        leadership = guard;
        observer.leading(election.name(), true);
        while (!isStopped && guard.isValid() && guard.transferRequest() == null) {
            await(0);
        }
        leadership = null;
        observer.leading(election.name(), false);
        running.forEach(Interruption::fire);
        CompletableFuture<Void> lost = guard.lost().thenRun(this::wake);
        while (!running.isEmpty() && guard.isValid()) {
            await(0);
        }
        end.cancel(false);
        lost.cancel(false);
        LostReason reason = guard.lostReason();
        if (reason != null) {
            observer.lost(reason);
        }
    }

    /** Waits for a change, at most so many milliseconds (0: without a limit). An interrupt only repeats what a field shows. */
    private void await(long milliseconds) {
        try {
            if (!isStopped || milliseconds == 0) {
                wait(milliseconds);
            }
        } catch (InterruptedException stopped) {
            // By stop(): see above.
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
