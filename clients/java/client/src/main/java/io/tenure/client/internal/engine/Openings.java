package io.tenure.client.internal.engine;

import io.tenure.client.LostReason;
import io.tenure.client.Refusal;
import io.tenure.client.SessionState;
import io.tenure.client.TenureException;
import io.tenure.client.internal.Backoff;
import io.tenure.client.internal.Clock;
import io.tenure.client.internal.Convert;
import io.tenure.client.internal.SessionPresence;
import io.tenure.client.internal.Validity;
import io.tenure.client.v1.Answer;
import io.tenure.client.v1.Command;
import io.tenure.client.v1.OpenSessionRequest;
import io.tenure.client.v1.Session;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Sessions that are being opened. */
final class Openings {
    /** A server that takes so long to open a session is left, if it serves no other session. */
    private static final long PATIENCE = 1_500_000_000L;
    /** As is one that refuses for now so many times. */
    private static final int TRIES = 3;

    /** A session that is being opened. */
    private static final class Opening {
        final OpenSpec spec;
        final long giveUp;
        final CompletableFuture<Opened> reply;
        final Backoff backoff = Backoff.ofCalls();
        long command;
        /** How often the session was asked to be attached. */
        long attachment;

        int refusals;

        @Nullable
        Refusal refusal;

        Opening(OpenSpec spec, long giveUp, CompletableFuture<Opened> reply) {
            this.spec = spec;
            this.giveUp = giveUp;
            this.reply = reply;
        }
    }

    private final Engine engine;
    private final Map<String, Opening> openings = new LinkedHashMap<>();

    Openings(Engine engine) {
        this.engine = engine;
    }

    void open(OpenSpec spec, long giveUp, CompletableFuture<Opened> reply, long now) {
        String id = spec.id();
        if (openings.containsKey(id) || engine.sessions.contains(id)) {
            reply.completeExceptionally(
                    new TenureException.Invalid("id", "this client has a session \"" + id + "\" already"));
            return;
        }
        Opening opening = new Opening(spec, giveUp, reply);
        openings.put(id, opening);
        engine.timers.set(giveUp, later -> giveUp(opening, later));
        send(id, now);
    }

    void sendAll(long now) {
        List.copyOf(openings.keySet()).forEach(id -> send(id, now));
    }

    void send(String id, long now) {
        Opening opening = openings.get(id);
        // A session of the same id that is still being closed goes first; its end asks again.
        if (opening == null || opening.command != 0 || engine.closings.contains(id) || !engine.hasStream()) {
            return;
        }
        opening.attachment++;
        OpenSpec spec = opening.spec;
        OpenSessionRequest.Builder message = OpenSessionRequest.newBuilder()
                .setNamespace(engine.namespace)
                .setSessionId(id)
                .setTtl(Convert.toWire(spec.ttl()))
                .setOwner(spec.owner())
                .putAllMetadata(spec.metadata())
                .setAttachment(opening.attachment)
                .setClientId(engine.clientId);
        if (spec.grace() != Validity.NO_GRACE) {
            message.setDisconnectGrace(Convert.toWire(spec.grace()));
        }
        long command = engine.send(
                Command.newBuilder().setOpenSession(message),
                (number, answer, sent, then) -> answered(opening, answer, sent, then),
                now);
        opening.command = command;
        engine.timers.set(now + PATIENCE, later -> {
            if (engine.isUnanswered(command)) {
                engine.sessions.leaveIfIdle();
            }
        });
    }

    private void answered(Opening opening, Answer answer, long sent, long now) {
        if (openings.get(opening.spec.id()) != opening) {
            return;
        }
        switch (answer.getKindCase()) {
            case OPEN_SESSION -> opened(opening, answer.getOpenSession().getSession(), sent, now);
            case REFUSAL -> refused(opening, Convert.refusal(answer.getRefusal()), now);
            default -> engine.misfit(answer);
        }
    }

    private void opened(Opening opening, Session session, long sent, long now) {
        String id = opening.spec.id();
        openings.remove(id);
        long ttl = session.hasTtl() ? Convert.nanos(session.getTtl()) : opening.spec.ttl();
        SessionPresence presence = new SessionPresence(engine.clock, ttl, Sessions.grace(session), sent);
        if (presence.check(now) == SessionState.LOST) {
            abandon(opening, new TenureException.Lost(LostReason.of(LostReason.Kind.EXPIRED)), now);
            return;
        }
        Opened opened = new Opened(id, session.getOwner(), presence);
        engine.sessions.begin(opened, opening.spec.ticks(), opening.attachment, sent, now);
        if (!opening.reply.complete(opened)) {
            // Nobody waits for it any more.
            engine.closings.closeUnasked(id, now);
        }
    }

    private void refused(Opening opening, Refusal refusal, long now) {
        String id = opening.spec.id();
        opening.command = 0;
        long counted = Engine.counted(refusal);
        if (counted > 0) {
            opening.attachment = Math.max(opening.attachment, counted);
            send(id, now);
        } else if (engine.isForNow(refusal)) {
            opening.refusal = refusal;
            opening.refusals++;
            engine.timers.set(now + opening.backoff.next(), later -> send(id, later));
            if (opening.refusals % TRIES == 0) {
                engine.sessions.leaveIfIdle();
            }
        } else {
            openings.remove(id);
            opening.reply.completeExceptionally(new TenureException.Refused(refusal));
        }
    }

    private void giveUp(Opening opening, long now) {
        if (openings.remove(opening.spec.id(), opening)) {
            abandon(opening, engine.inVain(opening.refusal), now);
        }
    }

    /** Nobody waits for the session any more. */
    void drop(String id, CompletableFuture<Opened> reply, long now) {
        Opening opening = openings.get(id);
        if (opening != null && opening.reply == reply) {
            openings.remove(id);
            abandon(opening, new TenureException.Closed(), now);
        }
    }

    void abandonAll(Supplier<TenureException> error, long now) {
        List<Opening> all = List.copyOf(openings.values());
        openings.clear();
        all.forEach(opening -> abandon(opening, error.get(), now));
    }

    /** Stops opening a session, which may be open all the same if it was asked for: so it is closed. */
    private void abandon(Opening opening, TenureException error, long now) {
        opening.reply.completeExceptionally(error);
        if (opening.attachment == 0) {
            return;
        }
        engine.closings.begin(opening.spec.id(), Clock.after(now, opening.spec.ttl()), null, now);
    }

    void detachAll() {
        openings.values().forEach(opening -> opening.command = 0);
    }
}
