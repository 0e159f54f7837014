package io.tenure.spring.boot;

import io.tenure.client.v1.Claim;
import org.jspecify.annotations.Nullable;

/** A method did not run, because its lock was not free in time, or its thread was interrupted while it waited. */
public class LockNotAcquiredException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String key;
    private final transient @Nullable Claim holder;

    LockNotAcquiredException(String key, @Nullable Claim holder) {
        super("another claim holds " + key + (holder == null ? "" : ": " + holder.getOwner()));
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

    /** A claim that holds it, or waits ahead for it. Null: that is not known. */
    public @Nullable Claim holder() {
        return holder;
    }
}
