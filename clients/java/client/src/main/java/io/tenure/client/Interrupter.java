package io.tenure.client;

/** Interrupts a thread once, as long as it is at what is to be interrupted. */
final class Interrupter {
    private final Thread thread;
    private boolean isArmed = true;
    private boolean hasFired;

    Interrupter(Thread thread) {
        this.thread = thread;
    }

    synchronized void fire() {
        if (isArmed) {
            isArmed = false;
            hasFired = true;
            thread.interrupt();
        }
    }

    /** From here on the thread is not interrupted, and one that was is not any more. Answers whether it was. Called by it. */
    synchronized boolean disarm() {
        isArmed = false;
        boolean fired = hasFired;
        if (fired) {
            hasFired = false;
            Thread.interrupted();
        }
        return fired;
    }
}
