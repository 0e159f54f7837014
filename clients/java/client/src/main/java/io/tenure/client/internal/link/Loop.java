package io.tenure.client.internal.link;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The connection's one thread: what it is given is done in order. */
final class Loop {
    private static final Logger LOG = System.getLogger(Loop.class.getName());

    private final ScheduledThreadPoolExecutor executor;
    private final Queue<Runnable> inbox = new ConcurrentLinkedQueue<>();
    private volatile boolean isStopped;

    Loop() {
        executor = new ScheduledThreadPoolExecutor(1, work -> {
            Thread thread = new Thread(work, "tenure");
            thread.setDaemon(true);
            return thread;
        });
        executor.setRemoveOnCancelPolicy(true);
        executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    /** Does it soon. Answers false if it never will. */
    boolean execute(Runnable work) {
        if (isStopped) {
            return false;
        }
        inbox.add(work);
        try {
            executor.execute(this::takeIn);
        } catch (RejectedExecutionException stopped) {
            // What came in just before the end was done at the end.
            return !inbox.remove(work);
        }
        return true;
    }

    private void takeIn() {
        for (Runnable work = inbox.poll(); work != null; work = inbox.poll()) {
            runSafely(work);
        }
    }

    /** Does it after so many nanoseconds. Only from the loop's own thread. */
    ScheduledFuture<?> later(long nanos, Runnable work) {
        return executor.schedule(() -> runSafely(work), nanos, TimeUnit.NANOSECONDS);
    }

    /** Does what has come in already, and nothing more. */
    void stop() {
        isStopped = true;
        executor.shutdown();
        takeIn();
    }

    private static void runSafely(Runnable work) {
        try {
            work.run();
        } catch (RuntimeException error) {
            LOG.log(Level.ERROR, "unexpected", error);
        }
    }
}
