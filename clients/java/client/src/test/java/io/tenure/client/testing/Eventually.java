package io.tenure.client.testing;

import java.time.Duration;
import java.util.concurrent.Callable;

/** Waits for conditions, with a deadline. */
public final class Eventually {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final long LOOK_EVERY_MS = 5;

    private Eventually() {}

    /** Waits until it is so. */
    public static void holds(String what, Callable<Boolean> so) throws InterruptedException {
        long start = System.nanoTime();
        try {
            while (!so.call()) {
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
}
