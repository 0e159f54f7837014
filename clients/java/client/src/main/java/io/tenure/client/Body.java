package io.tenure.client;

import org.jspecify.annotations.Nullable;

/** Work under a lock, with a result. */
@FunctionalInterface
public interface Body<T extends @Nullable Object> {
    /** Runs on the caller's thread, which is interrupted when the hold is lost. */
    T run(Hold hold) throws Exception;
}
