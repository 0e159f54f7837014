package io.tenure.client;

import java.util.concurrent.CountDownLatch;

/** A candidate that takes part on a thread of its own, until it is closed. */
public final class Leading implements AutoCloseable {
    private final Thread thread;

    Leading(Election election, LeadershipListener listener) {
        this.thread = new Thread(() -> lead(election, listener), "tenure-election-" + election.name());
        thread.setDaemon(true);
        thread.start();
    }

    private static void lead(Election election, LeadershipListener listener) {
        try {
            election.lead(leadership -> {
                listener.elected(leadership);
                try {
                    // Until it is interrupted.
                    new CountDownLatch(1).await();
                } finally {
                    listener.revoked(leadership);
                }
            });
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        } catch (Exception error) {
            listener.failed(error);
        }
    }

    /** Resigns and stops, and waits for that unless the thread is interrupted. */
    @Override
    public void close() {
        thread.interrupt();
        try {
            if (Thread.currentThread() != thread) {
                thread.join();
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
