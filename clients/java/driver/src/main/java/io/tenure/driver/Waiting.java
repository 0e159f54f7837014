package io.tenure.driver;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** Waits for what is asked in the background. */
final class Waiting {
    private Waiting() {}

    /** Interrupted, it cancels what was requested. */
    static <T> T on(CompletableFuture<T> answer) throws InterruptedException {
        try {
            return answer.get();
        } catch (InterruptedException cancelled) {
            answer.cancel(false);
            throw cancelled;
        } catch (ExecutionException error) {
            if (error.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new IllegalStateException(error.getCause());
        }
    }
}
