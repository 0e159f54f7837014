package io.tenure.spring.boot;

import io.tenure.client.LostReason;
import java.time.Duration;

/** Observes annotated methods. Called on their threads, and must not block. */
interface TenureObserver {
    /** The outcome of a request for a lock. */
    enum Outcome {
        /** It is held. */
        ACQUIRED,
        /** Another claim held it. */
        BUSY,
        /** An error, or an interrupt. */
        FAILED
    }

    /** Does nothing. */
    TenureObserver NONE = new TenureObserver() {};

    /** A lock was requested, and that took so long. */
    default void asked(Outcome outcome, Duration took) {}

    /** So many more locks are held. */
    default void held(int more) {}

    /** A lock, or a leadership, was lost. */
    default void lost(LostReason reason) {}

    /** This program leads, or does not any more. */
    default void leading(String election, boolean leads) {}

    /** The last campaign of this program was refused, or was not. */
    default void refused(String election, boolean isRefused) {}
}
