package io.tenure.spring.boot;

/** What happens to a call whose lock another claim holds. */
public enum WhenBusy {
    /** It fails with {@link LockNotAcquiredException}. */
    THROW,
    /**
     * The method does not run: the call returns null, or an empty {@link java.util.Optional}. Not for methods with a primitive result.
     */
    SKIP
}
