package io.tenure.spring.boot;

/** Interrupts the thread that made it once, as long as that is at what is to be interrupted. */
final class Interruption {
    private final Thread thread = Thread.currentThread();
    private boolean isArmed = true;
    private boolean hasFired;

    synchronized void fire() {
        if (isArmed) {
            isArmed = false;
            hasFired = true;
            thread.interrupt();
        }
    }

    /** From here on the thread is not interrupted, and one that was is not any more. Called by it. */
    synchronized void disarm() {
        isArmed = false;
        if (hasFired) {
            hasFired = false;
            Thread.interrupted();
        }
    }
}
