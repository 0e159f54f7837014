package io.tenure.client.protocol;

import io.tenure.client.LostReason;
import io.tenure.client.v1.Declaration;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/**
 * One session, claim or membership, from its declaration to its end: what handles know of it, on any thread, and what the protocol
 * keeps of it, on its own.
 */
public final class Presence {
    /** A moment that never comes. */
    static final long NEVER = Long.MAX_VALUE;

    final long number;
    final Presence session;
    /** The first number of its declaration. */
    final long declaration;
    /** Its declaration, without what was declared with it, until its state is received. Then it is known to exist. */
    @Nullable
    Declaration declared;
    /** When the last message that declares it was queued. */
    long sent;
    /** The bytes of its declaration, if that was sent and no server has confirmed it. */
    int unconfirmed;
    /** The fencing token of a held claim; 0 otherwise. */
    long token;
    /** Whether there is no progress at a time, given since when it is needed. Null: its session is renewed in any case. */
    private final @Nullable BiPredicate<Long, Long> stalls;
    /** Since when it is open or held: progress from before does not count. */
    private long since = NEVER;

    /** Of a session: its claims and memberships, by their numbers. */
    final Set<Presence> parts = new TreeSet<>((one, other) -> Long.compare(one.number, other.number));
    /** Of a session: keep-alives from this one on renew it ... */
    long renewedFrom;
    /** ... and from this one on do not. */
    long paused = NEVER;
    /** Of a session: the epoch of the last stream that reported it as open. */
    long epoch;

    private volatile Status status = new Status.Declared();
    /** Why it is lost: finally. */
    private final AtomicReference<@Nullable LostReason> lost = new AtomicReference<>();

    private final Set<Runnable> listeners = ConcurrentHashMap.newKeySet();

    Presence(
            long number,
            @Nullable Presence session,
            @Nullable BiPredicate<Long, Long> stalls,
            long declaration,
            Declaration declared) {
        this.number = number;
        this.session = session == null ? this : session;
        this.stalls = stalls;
        this.declaration = declaration;
        this.declared = declared;
    }

    /** Its session: itself, if it is one. */
    public Presence session() {
        return session;
    }

    boolean isSession() {
        return session == this;
    }

    boolean isWithdrawn() {
        return status instanceof Status.Withdrawn;
    }

    boolean isWithdrawnBefore(long ofEpoch) {
        return status instanceof Status.Withdrawn withdrawn && withdrawn.epoch() < ofEpoch;
    }

    /** Whether its session is not to be renewed, because there is no progress. */
    boolean isStalled(long now) {
        return stalls != null && since != NEVER && stalls.test(since, now);
    }

    boolean isPaused() {
        return paused != NEVER;
    }

    /** Whether the keep-alive of this number renews the session. */
    boolean isRenewedBy(long keepAlive) {
        return keepAlive >= renewedFrom && keepAlive < paused;
    }

    /**
     * Whether a Hello states it, if it was sent. What was withdrawn before a server confirmed it is not; what was withdrawn later is,
     * so that the reason of its end is reported.
     */
    boolean isStated() {
        return !isWithdrawn() || declared == null;
    }

    public Status status() {
        return status;
    }

    /** The validity of its session; null unless that is open. */
    public @Nullable Validity validity() {
        return session.status instanceof Status.Open open ? open.validity() : null;
    }

    /** That of an open session. */
    Validity openValidity() {
        return Objects.requireNonNull(validity());
    }

    /** Why it is lost at this moment, if it is. The first caller to see that it has expired records the loss for all handles. */
    public @Nullable LostReason lostReason(long now) {
        if (lost.get() == null) {
            LostReason ofSession = isSession() ? null : session.lostReason(now);
            lost.compareAndSet(null, ofSession == null ? lostReason(status, now) : ofSession);
        }
        return lost.get();
    }

    private @Nullable LostReason lostReason(Status latest, long now) {
        if (latest instanceof Status.Open open) {
            return open.validity().loss(now);
        }
        if (latest instanceof Status.Lost end) {
            return end.reason();
        }
        if (latest instanceof Status.Withdrawn || latest instanceof Status.Confirmed) {
            return withdrawn();
        }
        return latest instanceof Status.End ? LostReason.of(LostReason.Kind.FORGOTTEN) : null;
    }

    private LostReason withdrawn() {
        return LostReason.of(isSession() ? LostReason.Kind.CLOSED : LostReason.Kind.RELEASED);
    }

    /** The program ends it. Returns why it was lost before, if it was. */
    public @Nullable LostReason withdraw(long now) {
        LostReason before = lostReason(now);
        return before != null || lost.compareAndSet(null, withdrawn()) ? before : lost.get();
    }

    /** Whether a caller has seen that it is lost. */
    boolean isRecordedAsLost() {
        return lost.get() != null;
    }

    /** Sets the latest status, and notifies the listeners; except of a renewal in time, which changes nothing for them. */
    void set(Status latest, long now) {
        boolean isInTime =
                status instanceof Status.Open open && now < open.validity().atRiskFrom();
        status = latest;
        if (latest instanceof Status.Open || latest instanceof Status.Held) {
            since = Math.min(since, now);
        }
        if (!isInTime || !(latest instanceof Status.Open)) {
            listeners.forEach(Runnable::run);
        }
    }

    /** Calls this now, and after each change on the protocol's thread: it must neither block nor change what is declared. */
    public void listen(Runnable listener) {
        listeners.add(listener);
        listener.run();
    }

    public void forget(Runnable listener) {
        listeners.remove(listener);
    }
}
