package io.tenure.client;

/** The state of a session. */
public enum SessionState {
    /** Recently renewed. */
    HEALTHY,
    /**
     * Still valid, but a renewal is overdue (no server answered, or there was no {@link Progress}): less than a third of the TTL, or of
     * the disconnect grace, is left.
     */
    AT_RISK,
    /** Lost, finally. The locks may be granted to others. */
    LOST
}
