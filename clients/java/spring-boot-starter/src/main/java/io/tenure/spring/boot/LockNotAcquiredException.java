package io.tenure.spring.boot;

import io.tenure.client.Claim;
import org.jspecify.annotations.Nullable;

/** A method did not run, because its lock was not to be had in time, or its thread was interrupted while it waited. */
public class LockNotAcquiredException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String key;
    private final transient @Nullable Claim holder;

    LockNotAcquiredException(String key, @Nullable Claim holder) {
        super("somebody else holds " + key + (holder == null ? "" : ": " + holder.owner()));
        this.key = key;
        this.holder = holder;
    }

    LockNotAcquiredException(String key, InterruptedException interrupted) {
        super("interrupted while waiting for " + key, interrupted);
        this.key = key;
        this.holder = null;
    }

    /** The name of the lock. */
    public String key() {
        return key;
    }

    /** Who holds it, or waits ahead. Null: that is not known. */
    public @Nullable Claim holder() {
        return holder;
    }
}
