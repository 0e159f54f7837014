package io.tenure.client;

/** Where a session stands. */
public enum SessionState {
    /** Renewed lately. */
    HEALTHY,
    /**
     * Still valid, but a renewal is overdue (no server answered, or there was no {@link Progress}): less than a third of the TTL is
     * left, or of the disconnect grace.
     */
    AT_RISK,
    /** Over, for good. The locks may be with others. */
    LOST
}
