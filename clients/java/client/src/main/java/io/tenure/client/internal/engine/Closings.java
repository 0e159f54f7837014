package io.tenure.client.internal.engine;

import io.tenure.client.LostReason;
import io.tenure.client.Refusal;
import io.tenure.client.TenureException;
import io.tenure.client.internal.Backoff;
import io.tenure.client.internal.Clock;
import io.tenure.client.internal.Convert;
import io.tenure.client.v1.Answer;
import io.tenure.client.v1.CloseSessionRequest;
import io.tenure.client.v1.Command;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Sessions that are being closed, so that what they held need not wait for their TTL. */
final class Closings {
    /** A session that is being closed. */
    private static final class Closing {
        final String id;
        final List<CompletableFuture<Void>> replies = new ArrayList<>();
        final Backoff backoff = Backoff.ofCalls();
        /** From then on the server has ended it by itself. */
        long until;

        long command;

        @Nullable
        Refusal refusal;

        Closing(String id) {
            this.id = id;
        }
    }

    private final Engine engine;
    private final Map<String, Closing> closings = new LinkedHashMap<>();

    Closings(Engine engine) {
        this.engine = engine;
    }

    boolean contains(String id) {
        return closings.containsKey(id);
    }

    boolean isEmpty() {
        return closings.isEmpty();
    }

    void clear() {
        closings.clear();
    }

    void detachAll() {
        closings.values().forEach(closing -> closing.command = 0);
    }

    /** Closes a session for somebody who waits for it. */
    void close(String id, long giveUp, CompletableFuture<Void> reply, long now) {
        Live live = engine.sessions.get(id);
        if (live != null) {
            long until = Clock.after(now, live.presence.ttl());
            engine.sessions.lose(id, LostReason.of(LostReason.Kind.CLOSED), now);
            begin(id, until, reply, now);
        } else if (closings.containsKey(id)) {
            closings.get(id).replies.add(reply);
        } else {
            reply.complete(null);
            return;
        }
        engine.timers.set(giveUp, later -> giveUp(id, reply, later));
    }

    /** Closes a session that nobody waits for. */
    void closeUnasked(String id, long now) {
        Live live = engine.sessions.get(id);
        if (live != null) {
            long until = Clock.after(now, live.presence.ttl());
            engine.sessions.lose(id, LostReason.of(LostReason.Kind.CLOSED), now);
            begin(id, until, null, now);
        }
    }

    void begin(String id, long until, @Nullable CompletableFuture<Void> reply, long now) {
        Closing closing = closings.computeIfAbsent(id, Closing::new);
        closing.until = Math.max(closing.until, until);
        if (reply != null) {
            closing.replies.add(reply);
        }
        engine.timers.set(until, later -> forget(id, later));
        send(closing, now);
    }

    void sendAll(long now) {
        List.copyOf(closings.values()).forEach(closing -> send(closing, now));
    }

    private void send(Closing closing, long now) {
        if (closings.get(closing.id) != closing || closing.command != 0 || !engine.hasStream()) {
            return;
        }
        CloseSessionRequest message = CloseSessionRequest.newBuilder()
                .setNamespace(engine.namespace)
                .setSessionId(closing.id)
                .setClientId(engine.clientId)
                .build();
        closing.command = engine.send(
                Command.newBuilder().setCloseSession(message),
                (number, answer, sent, then) -> answered(closing, answer, then),
                now);
    }

    private void answered(Closing closing, Answer answer, long now) {
        if (closings.get(closing.id) != closing) {
            return;
        }
        switch (answer.getKindCase()) {
            case CLOSE_SESSION -> closed(closing.id, now);
            case REFUSAL -> refused(closing, Convert.refusal(answer.getRefusal()), now);
            default -> engine.misfit(answer);
        }
    }

    /** The server has ended the session. */
    void closed(String id, long now) {
        Closing closing = closings.remove(id);
        if (closing != null) {
            closing.replies.forEach(reply -> reply.complete(null));
            engine.openings.send(id, now);
        }
    }

    private void refused(Closing closing, Refusal refusal, long now) {
        closing.command = 0;
        if (engine.isForNow(refusal)) {
            closing.refusal = refusal;
            engine.timers.set(now + closing.backoff.next(), later -> send(closing, later));
            return;
        }
        switch (refusal.reason()) {
            case SESSION_ENDED, SESSION_NOT_FOUND, SESSION_IN_USE -> closed(closing.id, now);
            default -> {
                closings.remove(closing.id);
                closing.replies.forEach(reply -> reply.completeExceptionally(new TenureException.Refused(refusal)));
                engine.openings.send(closing.id, now);
            }
        }
    }

    /** It is tried further, only nobody waits for it. */
    private void giveUp(String id, CompletableFuture<Void> reply, long now) {
        Closing closing = closings.get(id);
        if (closing != null && closing.replies.remove(reply)) {
            reply.completeExceptionally(engine.inVain(closing.refusal));
            forget(id, now);
        }
    }

    private void forget(String id, long now) {
        Closing closing = closings.get(id);
        // Who still waits for an answer is told by its own deadline.
        if (closing != null && closing.until <= now && closing.replies.isEmpty()) {
            closed(id, now);
        }
    }
}
