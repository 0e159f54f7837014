package io.tenure.client.internal.engine;

/** What the stream is good for. */
public enum Verdict {
    /** Nothing is known against it. */
    GOOD,
    /** Connect elsewhere, and stay meanwhile. */
    LEAVE,
    /** Drop it now, and connect elsewhere. */
    BROKEN
}
