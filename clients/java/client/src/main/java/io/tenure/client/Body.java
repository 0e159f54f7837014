package io.tenure.client;

import org.jspecify.annotations.Nullable;

/**
 * What runs under a lock.
 *
 * @param <T> what it answers
 */
@FunctionalInterface
public interface Body<T extends @Nullable Object> {
    /** Runs on the caller's thread, which is interrupted when the hold is lost. */
    T run(Hold hold) throws Exception;
}
