package io.tenure.examples;

import io.tenure.client.TenureClient;

/** What a program does last. */
final class Stopping {
    private Stopping() {}

    /** Closes the client when the program is asked to end, so that what it holds is free at once. */
    static void closes(TenureClient client) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            System.out.println("stopping");
            client.close();
        }));
    }
}
