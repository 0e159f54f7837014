package io.tenure.examples;

import io.tenure.client.Guard;
import io.tenure.client.TenureClient;
import java.time.Duration;

/** Waits for a lock, works under it, and releases it. */
public final class Basic {
    private Basic() {}

    public static void main(String[] arguments) throws InterruptedException {
        // snippet: basic
        try (TenureClient client = TenureClient.fromEnvironment();
                Guard guard = client.lock("nightly-report")
                        .ttl(Duration.ofSeconds(5))
                        .owner("basic")
                        .acquire()) {
            System.out.println("acquired token=" + guard.token());
            // Each write goes along with the token; work that takes long looks whether the lock is still there.
            System.out.println("valid=" + guard.isValid());
            guard.release();
            System.out.println("released");
        }
        // snippet end
    }
}
