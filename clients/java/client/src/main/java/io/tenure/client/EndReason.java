package io.tenure.client;

import java.util.Locale;

/** Why a claim or a session ended. */
public enum EndReason {
    /** The holder released it, or the waiter gave up. */
    RELEASED,
    /** The session's TTL passed without a renewal. */
    EXPIRED,
    /** The session's stream broke, or nobody was there to receive a grant. */
    DISCONNECTED,
    /** The client closed the session. */
    CLOSED,
    /** An operator ended it. */
    EVICTED,
    /** It was handed to another waiter as planned. */
    TRANSFERRED,
    /** A reason that this version does not know. */
    UNKNOWN;

    /** The reason in one lowercase word. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
