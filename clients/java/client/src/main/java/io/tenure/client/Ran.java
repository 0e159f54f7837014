package io.tenure.client;

import org.jspecify.annotations.Nullable;

/** What came of {@link LockRequest#tryRun}. */
public sealed interface Ran<T> {
    /**
     * The body ran to its end.
     *
     * @param value what it answered
     */
    record Done<T>(@Nullable T value) implements Ran<T> {}

    /**
     * Somebody else has the locks; the body did not run.
     *
     * @param holder who, if that is known
     */
    record Busy<T>(@Nullable Claim holder) implements Ran<T> {}
}
