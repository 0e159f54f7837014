package io.tenure.spring.boot;

import io.tenure.client.LostReason;
import java.time.Duration;

/** Is told what comes of annotated methods. Called on their threads, and not to keep them waiting. */
interface TenureObserver {
    /** What came of asking for a lock. */
    enum Outcome {
        /** It is held. */
        ACQUIRED,
        /** Somebody else held it. */
        BUSY,
        /** An error, or an interrupt. */
        FAILED
    }

    /** Tells nobody. */
    TenureObserver NONE = new TenureObserver() {};

    /** A lock was asked for, and it took so long. */
    default void asked(Outcome outcome, Duration took) {}

    /** So many more locks are held. */
    default void held(int more) {}

    /** A lock, or a leadership, was lost. */
    default void lost(LostReason reason) {}

    /** This program leads, or does not any more. */
    default void leading(String election, boolean leads) {}
}
