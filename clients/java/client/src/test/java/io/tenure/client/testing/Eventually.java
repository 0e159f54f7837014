package io.tenure.client.testing;

import io.tenure.client.TenureException;
import java.time.Duration;
import java.util.concurrent.Callable;

/** Waits for conditions, with a deadline. */
public final class Eventually {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final long LOOK_EVERY_MS = 5;

    private Eventually() {}

    /** Waits until it is so. What no server has answered in time is not so yet: the machine may be busy. */
    public static void holds(String what, Callable<Boolean> so) throws InterruptedException {
        long start = System.nanoTime();
        try {
            while (!answers(so)) {
                if (System.nanoTime() - start > PATIENCE.toNanos()) {
                    throw new AssertionError("not within " + PATIENCE + ": " + what);
                }
                Thread.sleep(LOOK_EVERY_MS);
            }
        } catch (InterruptedException | RuntimeException error) {
            throw error;
        } catch (Exception error) {
            throw new AssertionError(what, error);
        }
    }

    private static boolean answers(Callable<Boolean> so) throws Exception {
        try {
            return so.call();
        } catch (TenureException.Unavailable unavailable) {
            return false;
        }
    }
}
