package io.tenure.client.protocol;

import io.tenure.client.LostReason;
import io.tenure.client.v1.Change;
import io.tenure.client.v1.OpenState;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Keep-alives of the current stream, the expiry of sessions, and the one timer of both. A Hello renews like a keep-alive, and has a number
 * like one. Times are in nanoseconds.
 */
final class Renewals {
    private static final long NEVER = Presence.NEVER;
    /** Without a reply to a change for this long, a keep-alive shows whether the server is there. */
    private static final long PROBE_AFTER = 250_000_000;
    /**
     * Without a reply for this long, the client connects to another server, which may be faster: for a change if it has no open session,
     * for a keep-alive or a Hello always.
     */
    private static final long PATIENCE = 1_000_000_000;
    /** The same as a part of the shortest time for which a session is valid, if that is less. */
    private static final int PATIENCE_DIVISOR = 4;
    /** How often it is checked, while there is no progress, whether there is again. */
    private static final long LOOK_FOR_PROGRESS = 20_000_000;

    private final Items table;
    private long lastNumber;
    /** Keep-alives without an acknowledgement: when each was queued, which is not after it is sent. */
    private final TreeMap<Long, Long> unanswered = new TreeMap<>();
    /** When the next one is due, if a session needs it. */
    private long due = NEVER;
    /** The shortest time for which a session is valid. */
    private long shortest = NEVER;
    /** No later than the end of any session's validity. */
    private long nextExpiry = NEVER;
    /** The sessions without progress. */
    private Set<Presence> stalled = Set.of();
    /** When to look for progress again. */
    private long nextLook = NEVER;

    Renewals(Items table) {
        this.table = table;
    }

    /** Pauses the sessions without progress, and resumes the others. */
    void checkProgress(long now) {
        Set<Presence> before = stalled;
        stalled = new HashSet<>();
        table.needy.stream().filter(item -> item.isStalled(now)).forEach(item -> stalled.add(item.session));
        stalled.stream().filter(session -> !session.isPaused()).forEach(session -> setPaused(session, true, now));
        before.stream()
                .filter(session -> !stalled.contains(session))
                .forEach(session -> setPaused(session, false, now));
        nextLook = stalled.isEmpty() ? NEVER : now + LOOK_FOR_PROGRESS;
    }

    /** A paused session is not renewed. */
    private void setPaused(Presence session, boolean isPaused, long now) {
        Change.Builder change = Change.newBuilder();
        session.renewedFrom = isPaused ? session.renewedFrom : lastNumber + 1;
        session.paused = isPaused ? lastNumber + 1 : NEVER;
        if (session.status() instanceof Status.Open open) {
            session.set(new Status.Open(open.validity().paused(isPaused)), now);
        }
        table.send(isPaused ? change.setPause(session.number) : change.setResume(session.number), now);
        if (!isPaused) {
            // Its acknowledgement is that of the change, too.
            sendKeepAlive(now);
            plan(now);
        }
    }

    /** Numbers the Hello of a new stream. */
    long addHello(long now) {
        unanswered.clear();
        return add(now);
    }

    private long add(long now) {
        lastNumber++;
        unanswered.put(lastNumber, now);
        return lastNumber;
    }

    private void sendKeepAlive(long now) {
        if (table.stream != null) {
            table.stream.sendKeepAlive(add(now));
        }
    }

    /** The Hello of this number was acknowledged. It renews the sessions once they are reported. */
    void welcomed(long hello) {
        unanswered.headMap(hello, true).clear();
    }

    /** A keep-alive was acknowledged. */
    void keptAlive(long number, long epoch, long now) {
        Long sent = unanswered.get(number);
        unanswered.headMap(number, true).clear();
        for (Presence session : table.openSessions()) {
            // A session that this stream has not reported may have ended.
            boolean isRenewed = sent != null && session.isRenewedBy(number) && session.epoch == epoch;
            Validity validity = session.openValidity();
            if (isRenewed && sent > validity.renewed()) {
                setValidity(session, validity.renewed(sent), now);
            }
        }
    }

    private void setValidity(Presence session, Validity validity, long now) {
        if (session.isRecordedAsLost()) {
            // Handles have seen its end, which is final, before this renewal arrived.
            table.abandon(session, new Status.Lost(LostReason.of(LostReason.Kind.UNRENEWED)), now);
        } else {
            session.set(new Status.Open(validity), now);
        }
    }

    /** A session is open, according to this stream. */
    void opened(Presence session, OpenState state, Stream stream, long now) {
        // If it was declared on this stream after the Hello, that declaration is later.
        long before =
                session.status() instanceof Status.Open open ? open.validity().renewed() : session.sent;
        long renewed = session.isRenewedBy(stream.hello) ? Math.max(stream.connected, before) : before;
        Validity validity = Validity.of(state, renewed, session.isPaused());
        session.epoch = stream.epoch;
        if (!session.isPaused()) {
            include(validity, renewed);
        }
        nextExpiry = Math.min(nextExpiry, validity.until());
        setValidity(session, validity, now);
        // The reply may have taken longer than the session is valid.
        expire(now);
    }

    private void include(Validity validity, long renewed) {
        due = Math.min(due, renewed + validity.renewAfter());
        shortest = Math.min(shortest, validity.validFor());
    }

    /** Plans the next keep-alive after one that is sent at this moment. */
    void plan(long now) {
        due = NEVER;
        shortest = NEVER;
        for (Presence session : table.openSessions()) {
            if (!session.isPaused()) {
                include(session.openValidity(), now);
            }
        }
    }

    /** Ends the sessions that are lost. */
    void expire(long now) {
        if (nextExpiry > now) {
            return;
        }
        nextExpiry = NEVER;
        for (Presence session : table.openSessions()) {
            LostReason loss = session.openValidity().loss(now);
            if (loss != null) {
                table.abandon(session, new Status.Lost(loss), now);
            } else {
                nextExpiry = Math.min(nextExpiry, session.openValidity().until());
            }
        }
    }

    /** When something is due next. */
    long pollTimeout() {
        long next = Math.min(nextExpiry, nextLook);
        Stream stream = table.stream;
        if (stream != null) {
            next = Math.min(next, due);
            if (!stream.isLeft) {
                next = Math.min(next, patienceEnds());
                next = Math.min(next, stream.afterAsking(stream.isProbed ? PATIENCE : PROBE_AFTER));
            }
        }
        return next;
    }

    /** When the server has not replied to the oldest keep-alive for too long. */
    private long patienceEnds() {
        Map.Entry<Long, Long> oldest = unanswered.firstEntry();
        return oldest == null ? NEVER : oldest.getValue() + Math.min(PATIENCE, shortest / PATIENCE_DIVISOR);
    }

    /** Does what is due. */
    void handleTimeout(long now) {
        expire(now);
        // First, because a keep-alive that is due must not renew a session without progress.
        checkProgress(now);
        Stream stream = table.stream;
        if (stream == null) {
            return;
        }
        if (due <= now) {
            plan(now);
            if (due != NEVER) {
                sendKeepAlive(now);
            }
        }
        if (patienceEnds() <= now) {
            table.leave();
        }
        if (stream.afterAsking(PATIENCE) <= now) {
            stream.asked = NEVER;
            if (table.openSessions().isEmpty()) {
                table.leave();
            }
        } else if (stream.afterAsking(PROBE_AFTER) <= now && !stream.isProbed) {
            stream.isProbed = true;
            sendKeepAlive(now);
        }
    }

    long shortestValidity() {
        return shortest;
    }
}
