package io.tenure.client.internal.engine;

import io.tenure.client.internal.Backoff;
import io.tenure.client.internal.Clock;
import io.tenure.client.internal.SessionPresence;
import io.tenure.client.internal.Ticks;
import io.tenure.client.internal.Validity;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An open session. */
final class Live {
    /** How often in the time between two renewals it is looked whether there is progress again ... */
    private static final int LOOKS_PER_PERIOD = 8;
    /** ... and no oftener than this. */
    private static final long SHORTEST_LOOK = 5_000_000L;
    /** Sessions whose renewal is due within this part of their period are renewed together with those that are due now. */
    private static final int GATHER_DIVISOR = 4;

    enum Stage {
        /** Not attached to a stream, and no answer to come that would. */
        DETACHED,
        /** Asked to be attached. */
        ATTACHING,
        /** Attached to the stream: its answers count. */
        ATTACHED
    }

    final String id;
    final String owner;
    final SessionPresence presence;
    final Map<Long, ClaimEntry> claims = new LinkedHashMap<>();
    final Turns turns = new Turns();
    final Backoff backoff = Backoff.ofCalls();

    private final long opened;
    private final @Nullable Ticks ticks;
    private final Map<Long, Ticks> ticksOfHolds = new HashMap<>();

    Stage stage = Stage.ATTACHED;
    /** How often it was asked to be attached, its opening included. Servers count by it, whatever reaches them when. */
    long attachment;
    /** When the last renewal was sent. */
    long renewed;
    /** When it was attached last. */
    long attached;
    /** When its phase is looked at next. */
    long look = Clock.NEVER;

    int refusals;

    Live(Opened session, @Nullable Ticks ticks, long attachment, long sent, long now) {
        this.id = session.id();
        this.owner = session.owner();
        this.presence = session.presence();
        this.ticks = ticks;
        this.attachment = attachment;
        this.renewed = sent;
        this.attached = now;
        this.opened = now;
    }

    boolean isAttached() {
        return stage == Stage.ATTACHED;
    }

    void detach() {
        stage = Stage.DETACHED;
        claims.values().forEach(claim -> claim.command = 0);
    }

    long renewalPeriod() {
        return Validity.renewalPeriod(presence.window());
    }

    /** Whether its renewal is due, or nearly. */
    boolean isDue(long now, boolean nearly) {
        long period = renewalPeriod();
        return isAttached() && renewed + period <= now + (nearly ? period / GATHER_DIVISOR : 0);
    }

    /** From a grant on: the progress that its renewal depends on besides. */
    void needTicks(long claim, Ticks ofHold) {
        ticksOfHolds.put(claim, ofHold);
    }

    /** A hold is over, or will be as soon as the server can be told. */
    void needTicksNoMore(long claim) {
        ticksOfHolds.remove(claim);
    }

    /** Whether nothing may be said that renews the session, because there is no progress. */
    boolean isHeldBack(long now) {
        boolean isStalled = (ticks != null && ticks.isStalled(opened, now))
                || ticksOfHolds.values().stream().anyMatch(ofHold -> ofHold.isStalled(Long.MIN_VALUE, now));
        presence.setStalled(isStalled);
        return isStalled;
    }

    /** When to look again whether there is progress. */
    long lookForProgress(long now) {
        return now + Math.max(renewalPeriod() / LOOKS_PER_PERIOD, SHORTEST_LOOK);
    }
}
