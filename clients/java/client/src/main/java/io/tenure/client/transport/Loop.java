package io.tenure.client.transport;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The one thread of a connection: its tasks run in order, and a turn after those that came together, so that what many
 * callers declare at the same time is sent together.
 */
final class Loop {
    private static final Logger LOG = System.getLogger(Loop.class.getName());
    /** The most tasks before a turn. */
    private static final int TASKS = 1_000;

    private final ThreadPoolExecutor executor =
            new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), daemons("tenure"));
    private volatile Runnable turn = () -> {};
    /** How many tasks have run since the last turn: only for the thread. */
    private int tasks;

    static ThreadFactory daemons(String name) {
        return work -> {
            Thread thread = new Thread(work, name);
            thread.setDaemon(true);
            return thread;
        };
    }

    /** What a turn does. */
    void setTurn(Runnable turns) {
        turn = turns;
    }

    /** Runs a task soon. Returns false if it never will. */
    boolean execute(Runnable task) {
        try {
            executor.execute(() -> {
                runSafely(task);
                tasks++;
                if (tasks >= TASKS || executor.getQueue().isEmpty()) {
                    tasks = 0;
                    runSafely(turn);
                }
            });
            return true;
        } catch (RejectedExecutionException stopped) {
            return false;
        }
    }

    /** Runs a task after so many nanoseconds, unless it is cancelled or this has been stopped by then. */
    Future<?> later(long nanos, Runnable task) {
        CompletableFuture<Void> timer = new CompletableFuture<>();
        timer.thenRun(() -> execute(task));
        return timer.completeOnTimeout(null, nanos, TimeUnit.NANOSECONDS);
    }

    /** Runs the tasks that it has been given, but no more turns. */
    void stop() {
        turn = () -> {};
        executor.shutdown();
    }

    private static void runSafely(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException error) {
            LOG.log(Level.ERROR, "unexpected", error);
        }
    }
}
