package io.tenure.client.internal.engine;

import io.tenure.client.EndReason;
import io.tenure.client.LostReason;
import io.tenure.client.Refusal;
import io.tenure.client.SessionState;
import io.tenure.client.internal.Clock;
import io.tenure.client.internal.Convert;
import io.tenure.client.internal.SessionPresence;
import io.tenure.client.internal.Ticks;
import io.tenure.client.internal.Validity;
import io.tenure.client.v1.Answer;
import io.tenure.client.v1.AttachSession;
import io.tenure.client.v1.AttachedSession;
import io.tenure.client.v1.Command;
import io.tenure.client.v1.KeepAliveRequest;
import io.tenure.client.v1.KeepAliveResponse;
import io.tenure.client.v1.KeptSession;
import io.tenure.client.v1.Session;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Open sessions: attached to the stream, renewed, lost. */
final class Sessions {
    private static final Logger LOG = System.getLogger(Sessions.class.getName());
    /** The most sessions that one keep-alive renews: the contract's bound. */
    private static final int SESSIONS_PER_KEEP_ALIVE = 1000;
    /** A server that cannot attach a session for now is left after so many tries, if it serves no other session. */
    private static final int ATTACH_TRIES = 3;

    private final Engine engine;
    private final Map<String, Live> sessions = new LinkedHashMap<>();

    Sessions(Engine engine) {
        this.engine = engine;
    }

    @Nullable
    Live get(String id) {
        return sessions.get(id);
    }

    /** The session, if it is the one that this handle is of and not a later one of the same id. */
    @Nullable
    Live get(String id, SessionPresence presence) {
        Live live = sessions.get(id);
        return live != null && live.presence == presence ? live : null;
    }

    boolean contains(String id) {
        return sessions.containsKey(id);
    }

    boolean isEmpty() {
        return sessions.isEmpty();
    }

    void clear() {
        sessions.clear();
    }

    Collection<Live> all() {
        return List.copyOf(sessions.values());
    }

    boolean areAllAttached() {
        return sessions.values().stream().allMatch(Live::isAttached);
    }

    /** Another server may do what this one cannot; but not at the cost of a session that this one serves. */
    void leaveIfIdle() {
        if (sessions.values().stream().noneMatch(Live::isAttached)) {
            engine.judge(Verdict.LEAVE);
        }
    }

    /** The shortest time for which a renewal of a session is good. */
    long shortestWindow() {
        return sessions.values().stream()
                .mapToLong(live -> live.presence.window())
                .min()
                .orElse(Clock.NEVER);
    }

    void detachAll() {
        sessions.values().forEach(Live::detach);
    }

    /** A session was opened on the stream that there is. */
    void begin(Opened session, @Nullable Ticks ticks, long attachment, long sent, long now) {
        Live live = new Live(session, ticks, attachment, sent, now);
        sessions.put(live.id, live);
        renewLater(live);
        lookAtChange(live, now);
    }

    void attach(Live live, long now) {
        if (sessions.get(live.id) != live || live.stage != Live.Stage.DETACHED || !engine.hasStream()) {
            return;
        }
        if (live.isHeldBack(now)) {
            engine.timers.set(live.lookForProgress(now), later -> attach(live, later));
            return;
        }
        live.attachment++;
        live.stage = Live.Stage.ATTACHING;
        AttachSession message = AttachSession.newBuilder()
                .setNamespace(engine.namespace)
                .setSessionId(live.id)
                .setAttachment(live.attachment)
                .setClientId(engine.clientId)
                .build();
        long command = engine.send(
                Command.newBuilder().setAttachSession(message),
                (id, answer, sent, then) -> attachAnswered(live, answer, sent, then),
                now);
        engine.breakIfSilent(command, now + live.renewalPeriod());
    }

    private void attachAnswered(Live live, Answer answer, long sent, long now) {
        if (sessions.get(live.id) != live) {
            return;
        }
        switch (answer.getKindCase()) {
            case ATTACHED_SESSION -> attached(live, answer.getAttachedSession(), sent, now);
            case REFUSAL -> attachRefused(live, Convert.refusal(answer.getRefusal()), now);
            default -> engine.misfit(answer);
        }
    }

    private void attached(Live live, AttachedSession answer, long sent, long now) {
        Session session = answer.getSession();
        long ttl = session.hasTtl() ? Convert.nanos(session.getTtl()) : live.presence.ttl();
        live.presence.attached(ttl, grace(session), sent, now);
        live.stage = Live.Stage.ATTACHED;
        live.renewed = sent;
        live.attached = now;
        live.refusals = 0;
        live.backoff.reset();
        renewLater(live);
        if (live.presence.check(now) == SessionState.LOST) {
            checkPhase(live, now);
            return;
        }
        // A grace that is new may end it earlier.
        lookAtChange(live, now);
        engine.claims.compare(live, session.getClaimsList(), answer.getRevision(), now);
        engine.claims.sendAll(live, now);
    }

    /** The grace that a server granted. */
    static long grace(Session session) {
        return session.hasDisconnectGrace() ? Convert.nanos(session.getDisconnectGrace()) : Validity.NO_GRACE;
    }

    private void attachRefused(Live live, Refusal refusal, long now) {
        if (endedByRefusal(live.id, refusal, now)) {
            return;
        }
        engine.isForNow(refusal);
        live.stage = Live.Stage.DETACHED;
        live.attachment = Math.max(live.attachment, Engine.counted(refusal));
        live.refusals++;
        // Whatever the reason: only the session's own deadline ends the trying.
        engine.timers.set(now + live.backoff.next(), later -> attach(live, later));
        if (live.refusals % ATTACH_TRIES == 0) {
            leaveIfIdle();
        }
    }

    /** The stream's answers do not count for the session any more: it has to be attached again. */
    void moved(String id, long now) {
        Live live = sessions.get(id);
        if (live == null || !live.isAttached()) {
            return;
        }
        live.detach();
        // At once, unless somebody else attaches it in turn: then not faster than it is renewed.
        long period = live.renewalPeriod();
        long again = now - live.attached > period ? now : now + Math.min(live.backoff.next(), period);
        engine.timers.set(again, later -> attach(live, later));
    }

    private void renewLater(Live live) {
        engine.timers.set(live.renewed + live.renewalPeriod(), later -> renewIfDue(live, later));
    }

    private void renewIfDue(Live live, long now) {
        if (sessions.get(live.id) != live || !live.isDue(now, false)) {
            return;
        }
        if (live.isHeldBack(now)) {
            engine.timers.set(live.lookForProgress(now), later -> renewIfDue(live, later));
            return;
        }
        List<Live> due = new ArrayList<>();
        for (Live other : sessions.values()) {
            if (other.isDue(now, true) && !other.isHeldBack(now)) {
                due.add(other);
            }
        }
        for (int from = 0; from < due.size(); from += SESSIONS_PER_KEEP_ALIVE) {
            keepAlive(due.subList(from, Math.min(from + SESSIONS_PER_KEEP_ALIVE, due.size())), now);
        }
    }

    private void keepAlive(List<Live> due, long now) {
        KeepAliveRequest.Builder message = KeepAliveRequest.newBuilder().setNamespace(engine.namespace);
        long limit = Clock.NEVER;
        for (Live live : due) {
            message.addSessionIds(live.id);
            live.renewed = now;
            renewLater(live);
            limit = Math.min(limit, Validity.silenceLimit(live.presence.window()));
        }
        long command = engine.send(Command.newBuilder().setKeepAlive(message), this::kept, now);
        engine.breakIfSilent(command, now + limit);
    }

    private void kept(long command, Answer answer, long sent, long now) {
        switch (answer.getKindCase()) {
            case KEEP_ALIVE -> kept(answer.getKeepAlive(), sent, now);
            case REFUSAL -> {
                Refusal refusal = Convert.refusal(answer.getRefusal());
                if (!engine.isForNow(refusal)) {
                    LOG.log(Level.WARNING, "sessions were not renewed: {0}", refusal);
                }
            }
            default -> engine.misfit(answer);
        }
    }

    private void kept(KeepAliveResponse answer, long sent, long now) {
        for (KeptSession kept : answer.getSessionsList()) {
            String id = kept.getSessionId();
            if (kept.hasTtl() && !kept.hasRefusal()) {
                // Attached since this was sent means that another answer counts.
                Live live = sessions.get(id);
                if (live != null && live.isAttached()) {
                    long before = live.presence.window();
                    live.presence.renewed(Convert.nanos(kept.getTtl()), sent, now);
                    if (live.presence.window() < before) {
                        // Less than was reckoned with: so the next renewal is due earlier.
                        renewLater(live);
                    }
                }
                continue;
            }
            Refusal refusal = Convert.refusal(kept.getRefusal());
            if (endedByRefusal(id, refusal, now)) {
                continue;
            }
            if (refusal.reason() == Refusal.Reason.NOT_ATTACHED) {
                moved(id, now);
            } else if (!engine.isForNow(refusal)) {
                LOG.log(Level.WARNING, "session {0} was not renewed: {1}", id, refusal);
            }
        }
    }

    /** Looks at the session's phase when it changes next, unless it is looked at before. */
    private void lookAtChange(Live live, long now) {
        long change = live.presence.nextChange(now);
        if (change < live.look) {
            live.look = change;
            engine.timers.set(change, later -> phaseDue(live, later));
        }
    }

    private void phaseDue(Live live, long now) {
        if (sessions.get(live.id) != live || live.look > now) {
            return;
        }
        live.look = Clock.NEVER;
        checkPhase(live, now);
        lookAtChange(live, now);
    }

    /** Looks where the session stands, and tells it. */
    private void checkPhase(Live live, long now) {
        switch (live.presence.check(now)) {
            case LOST -> {
                LostReason lost = live.presence.lost();
                LostReason reason = lost == null ? LostReason.of(LostReason.Kind.EXPIRED) : lost;
                LOG.log(Level.WARNING, "session {0} is lost: {1}", live.id, reason);
                long until = Clock.after(now, live.presence.ttl());
                lose(live.id, reason, now);
                // The server may not have given anything away yet: so that others need not wait for that.
                engine.closings.begin(live.id, until, null, now);
            }
            case AT_RISK -> LOG.log(Level.WARNING, "session {0} is at risk", live.id);
            case HEALTHY -> {}
        }
    }

    /** The server says that the session has ended. */
    void ended(String id, LostReason reason, long now) {
        if (sessions.containsKey(id)) {
            LOG.log(Level.WARNING, "session {0} has ended: {1}", id, reason);
            lose(id, reason, now);
        } else {
            engine.closings.closed(id, now);
        }
    }

    /** Whether a refusal says that the session is over; then it is. */
    boolean endedByRefusal(String id, Refusal refusal, long now) {
        LostReason reason =
                switch (refusal.reason()) {
                    case SESSION_ENDED -> {
                        EndReason endReason = Convert.endReason(refusal);
                        yield endReason == null
                                ? LostReason.of(LostReason.Kind.FORGOTTEN)
                                : LostReason.ended(endReason, null, null);
                    }
                    case SESSION_NOT_FOUND -> LostReason.of(LostReason.Kind.FORGOTTEN);
                    case SESSION_IN_USE -> LostReason.of(LostReason.Kind.IN_USE);
                    default -> null;
                };
        if (reason == null) {
            return false;
        }
        ended(id, reason, now);
        return true;
    }

    /** Ends a session on this side, and all that it holds and waits for. */
    void lose(String id, LostReason reason, long now) {
        Live live = sessions.remove(id);
        if (live == null) {
            return;
        }
        live.presence.end(reason);
        live.claims.values().forEach(claim -> engine.claims.lose(claim, reason));
        // Somebody may have asked for a new session of this id meanwhile.
        engine.openings.send(id, now);
    }
}
