package io.tenure.client;

import io.tenure.client.v1.BusyState;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The outcome of a request that need not wait. */
public sealed interface Attempt<T extends @Nullable Object> {
    /** The locks are held; or the body has run under them, with this result. */
    record Acquired<T extends @Nullable Object>(T value) implements Attempt<T> {}

    /** Another claim holds the locks, or is ahead in the queue: see {@code busy.getHolder()}. */
    record Busy<T extends @Nullable Object>(BusyState busy) implements Attempt<T> {}

    /** What was acquired, if it was. */
    default Optional<T> acquired() {
        return this instanceof Acquired<T> acquired ? Optional.ofNullable(acquired.value) : Optional.empty();
    }
}
