package io.tenure.client;

import io.tenure.client.internal.link.Link;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** An answer to come. Cancelling it gives up what was asked for. */
final class Pending<T> extends CompletableFuture<T> {
    private volatile @Nullable Runnable onCancel;

    /** What giving up takes, from now on. */
    void onCancel(Runnable action) {
        onCancel = action;
        if (isCancelled()) {
            action.run();
        }
    }

    @Override
    public boolean cancel(boolean mayInterrupt) {
        boolean isFirst = super.cancel(mayInterrupt);
        Runnable action = onCancel;
        if (isFirst && action != null) {
            action.run();
        }
        return isFirst;
    }

    /** The same for the program's own code, which is not called on the connection's thread. */
    CompletableFuture<T> published(Link link, Consumer<T> discard) {
        return published(link, value -> value, discard);
    }

    /** As {@link #published(Link, Consumer)}, of what is made of it. What comes too late is discarded. */
    <R> CompletableFuture<R> published(Link link, Function<T, R> make, Consumer<R> discard) {
        Pending<R> outer = new Pending<>();
        outer.onCancel(() -> cancel(false));
        whenComplete((value, error) -> execute(link.callbacks(), () -> {
            if (error != null) {
                outer.completeExceptionally(cause(error));
                return;
            }
            try {
                R made = make.apply(value);
                if (!outer.complete(made)) {
                    discard.accept(made);
                }
            } catch (TenureException unmade) {
                outer.completeExceptionally(unmade);
            }
        }));
        return outer;
    }

    /** Does it in the background; here, if the background has ended. */
    static void execute(Executor executor, Runnable work) {
        try {
            executor.execute(work);
        } catch (RejectedExecutionException ended) {
            work.run();
        }
    }

    /** Waits for an answer. Interrupted, it gives up what was asked for, unless the answer has come in the same moment. */
    static <T> T await(CompletableFuture<T> answer) throws InterruptedException {
        try {
            return answer.get();
        } catch (InterruptedException interrupted) {
            if (answer.cancel(false) || answer.isCompletedExceptionally()) {
                throw interrupted;
            }
            // What was granted is not to be lost; whatever waits next is interrupted.
            Thread.currentThread().interrupt();
            return answer.join();
        } catch (ExecutionException error) {
            throw thrown(error);
        }
    }

    private static RuntimeException thrown(ExecutionException error) {
        if (error.getCause() instanceof TenureException known) {
            // Of the thread that the answer came on: where it was asked is of more use.
            known.setStackTrace(new Throwable().getStackTrace());
            return known;
        }
        return error.getCause() instanceof CancellationException cancelled
                ? cancelled
                : new CompletionException(error.getCause());
    }

    static Throwable cause(Throwable error) {
        return error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    }
}
