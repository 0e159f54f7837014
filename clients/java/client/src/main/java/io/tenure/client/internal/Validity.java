package io.tenure.client.internal;

/**
 * How long a session may be believed in: pure arithmetic in nanoseconds, with the time passed in.
 *
 * <p>A session without a disconnect grace is good for its TTL from the sending of the last renewal that was answered. One with a
 * grace ends that long after the server has seen its stream break, and the client may be the last to see that: so it is good for
 * no longer than the grace from then. What is shorter of the two is its <em>window</em>, by which all the rest is measured.
 */
public final class Validity {
    /** No disconnect grace. */
    public static final long NO_GRACE = Long.MAX_VALUE;

    /** By how much the clocks of this machine and of the server may differ in rate: one part in a hundred. */
    private static final long DRIFT_DIVISOR = 100;
    /** What is taken off besides, so that the program is told before the deadline and not at it: a twentieth of it ... */
    private static final long MARGIN_DIVISOR = 20;
    /** ... but at least this (timers are not sharper than a few milliseconds) ... */
    private static final long MARGIN_MIN = 10_000_000L;
    /** ... and at most this. */
    private static final long MARGIN_MAX = 500_000_000L;
    /** A session is at risk when this part of its window is left: one renewal was missed. */
    private static final long RISK_DIVISOR = 3;

    private static final long RENEWALS_PER_WINDOW = 3;
    /**
     * How long an answer to a renewal may take before the stream counts as broken, as a part of the window. Together with the
     * time between renewals it leaves 5/12 of the window to attach elsewhere.
     */
    private static final long SILENCE_DIVISOR = 4;

    /** How far along its validity a session is. */
    public enum Phase {
        /** Renewed lately. */
        HEALTHY,
        /** Valid, but a renewal is overdue. */
        AT_RISK,
        /** The server may give its locks away. Never left again. */
        OVER
    }

    private long ttl;
    private long grace;
    /** When the last command was sent that was answered. */
    private long heard;
    /** When the TTL ends. */
    private long expires;

    private boolean over;

    /** Of a session that was opened by a command sent at {@code sent}. */
    public Validity(long ttl, long grace, long sent) {
        this.ttl = ttl;
        this.grace = grace;
        this.heard = sent;
        this.expires = deadline(ttl, sent);
    }

    /** A renewal that was sent at {@code sent} was answered. Nothing comes of it if that is too late. */
    public void renewed(long newTtl, long sent, long now) {
        attached(newTtl, grace, sent, now);
    }

    /** A command to attach it that was sent at {@code sent} was answered. Nothing comes of it if that is too late. */
    public void attached(long newTtl, long newGrace, long sent, long now) {
        if (phase(now) == Phase.OVER) {
            return;
        }
        ttl = newTtl;
        grace = newGrace;
        // Answers may overtake each other; the one that was asked for last tells most.
        heard = Math.max(heard, sent);
        // A TTL that was promised before stands. A grace does not: with the new stream the new one is in force.
        expires = Math.max(expires, deadline(newTtl, sent));
        phase(now);
    }

    /** Ends it, for another reason than the time. */
    public void end() {
        over = true;
    }

    /** Where it stands at {@code now}. */
    public Phase phase(long now) {
        if (now >= until()) {
            over = true;
        }
        if (over) {
            return Phase.OVER;
        }
        return now >= riskFrom() ? Phase.AT_RISK : Phase.HEALTHY;
    }

    /** When the phase changes next if nothing is heard. {@link Clock#NEVER} if it is over. */
    public long nextChange(long now) {
        return switch (phase(now)) {
            case HEALTHY -> riskFrom();
            case AT_RISK -> until();
            case OVER -> Clock.NEVER;
        };
    }

    /** The moment at which it is over if nothing is heard. */
    public long until() {
        return grace == NO_GRACE ? expires : Math.min(expires, deadline(grace, heard));
    }

    /** The TTL that the server answered last. */
    public long ttl() {
        return ttl;
    }

    /** The disconnect grace that the server answered last, or {@link #NO_GRACE}. */
    public long grace() {
        return grace;
    }

    /** For how long a renewal is good. */
    public long window() {
        return Math.min(ttl, grace);
    }

    private long riskFrom() {
        return until() - window() / RISK_DIVISOR;
    }

    /** The time between two renewals. */
    public static long renewalPeriod(long window) {
        return window / RENEWALS_PER_WINDOW;
    }

    /** How long a renewal may stay unanswered before the stream counts as broken. */
    public static long silenceLimit(long window) {
        return window / SILENCE_DIVISOR;
    }

    private static long deadline(long window, long sent) {
        long margin = Math.min(Math.max(window / MARGIN_DIVISOR, MARGIN_MIN), MARGIN_MAX);
        return Clock.after(sent, Math.max(window - window / DRIFT_DIVISOR - margin, 0));
    }
}
