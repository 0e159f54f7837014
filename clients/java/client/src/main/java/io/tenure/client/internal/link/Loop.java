package io.tenure.client.internal.link;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The connection's one thread: what it is given is done in order. */
final class Loop {
    private static final Logger LOG = System.getLogger(Loop.class.getName());

    private final ScheduledThreadPoolExecutor executor;

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
        try {
            executor.execute(() -> runSafely(work));
            return true;
        } catch (RejectedExecutionException ended) {
            return false;
        }
    }

    /** Does it after so many nanoseconds. Only from the loop's own thread. */
    ScheduledFuture<?> later(long nanos, Runnable work) {
        return executor.schedule(() -> runSafely(work), nanos, TimeUnit.NANOSECONDS);
    }

    void stop() {
        executor.shutdown();
    }

    private static void runSafely(Runnable work) {
        try {
            work.run();
        } catch (RuntimeException error) {
            LOG.log(Level.ERROR, "unexpected", error);
        }
    }
}
