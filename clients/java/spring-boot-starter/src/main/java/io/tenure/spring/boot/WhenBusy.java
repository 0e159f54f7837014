package io.tenure.spring.boot;

/** What happens to a call whose lock somebody else holds. */
public enum WhenBusy {
    /** It fails with {@link LockNotAcquiredException}. */
    THROW,
    /**
     * The method does not run: the call answers null, or an empty {@link java.util.Optional}. Not for methods that answer something
     * primitive.
     */
    SKIP
}
