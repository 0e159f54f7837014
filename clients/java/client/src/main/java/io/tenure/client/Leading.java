package io.tenure.client;

import java.util.concurrent.CountDownLatch;

/** A candidate that takes part on a thread of its own, until it is closed. */
public final class Leading implements AutoCloseable {
    private final Thread thread;
    /** Set before the thread is interrupted, because that alone may be taken for a loss. */
    private volatile boolean isStopped;

    Leading(Election election, LeadershipListener listener) {
        this.thread = new Thread(() -> lead(election, listener), "tenure-election-" + election.name());
        thread.setDaemon(true);
        thread.start();
    }

    private void lead(Election election, LeadershipListener listener) {
        Election.Work work = leadership -> {
            listener.elected(leadership);
            try {
                // Until it is interrupted.
                new CountDownLatch(1).await();
            } finally {
                listener.revoked(leadership);
            }
        };
        try {
            election.lead(work, () -> isStopped);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        } catch (Exception error) {
            listener.failed(error);
        }
    }

    /** Resigns and stops, and waits for that unless the thread is interrupted. */
    @Override
    public void close() {
        isStopped = true;
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
