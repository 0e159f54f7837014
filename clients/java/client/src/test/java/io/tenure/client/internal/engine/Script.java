package io.tenure.client.internal.engine;

import io.tenure.client.Mode;
import io.tenure.client.internal.Clock;
import io.tenure.client.internal.Convert;
import io.tenure.client.internal.Validity;
import io.tenure.client.v1.AcquireResponse;
import io.tenure.client.v1.Answer;
import io.tenure.client.v1.AttachedSession;
import io.tenure.client.v1.Command;
import io.tenure.client.v1.KeepAliveResponse;
import io.tenure.client.v1.KeptSession;
import io.tenure.client.v1.OpenSessionResponse;
import io.tenure.client.v1.Refusal;
import io.tenure.client.v1.ReleaseResponse;
import io.tenure.client.v1.Session;
import io.tenure.client.v1.StreamResponse;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** An engine in a world of the test's making: its clock, and a server that says what the test says. */
final class Script {
    static final long TTL = ms(1_200);

    long now;
    final Engine engine = new Engine("default", "program-1", () -> now);
    private long keys;

    static long ms(long milliseconds) {
        return milliseconds * 1_000_000;
    }

    /** Lets time pass, step by step as deadlines come. */
    void pass(long nanos) {
        long until = now + nanos;
        while (engine.nextDeadline() <= until) {
            now = Math.max(now, engine.nextDeadline());
            engine.due(now);
        }
        now = until;
    }

    List<Command> sent() {
        return engine.takeOutgoing(1000);
    }

    Command sentOne() {
        List<Command> sent = sent();
        if (sent.size() != 1) {
            throw new AssertionError("not one command: " + sent);
        }
        return sent.get(0);
    }

    void answer(Answer.Builder answer) {
        engine.received(StreamResponse.newBuilder().addAnswers(answer).build(), now);
    }

    void answer(Command command, Answer.Builder answer) {
        answer(answer.setId(command.getId()));
    }

    void refuse(Command command, String reason, Map<String, String> facts) {
        Refusal refusal =
                Refusal.newBuilder().setReason(reason).putAllMetadata(facts).build();
        answer(command, Answer.newBuilder().setRefusal(refusal));
    }

    /** Connects, and opens a session. */
    Opened open(String id) {
        engine.connected(now);
        CompletableFuture<Opened> reply = askToOpen(id);
        opened(sentOne(), id);
        return reply.join();
    }

    void opened(Command command, String id) {
        answer(
                command,
                Answer.newBuilder()
                        .setOpenSession(OpenSessionResponse.newBuilder().setSession(session(id))));
    }

    CompletableFuture<Opened> askToOpen(String id) {
        CompletableFuture<Opened> reply = new CompletableFuture<>();
        OpenSpec spec = new OpenSpec(id, TTL, Validity.NO_GRACE, "", Map.of(), null);
        engine.open(spec, now + ms(5_000), reply, now);
        return reply;
    }

    static Session.Builder session(String id) {
        return Session.newBuilder().setId(id).setTtl(Convert.toWire(TTL));
    }

    long nextKey() {
        return ++keys;
    }

    CompletableFuture<Granted> acquire(Opened session, long wait, String... names) {
        return acquire(nextKey(), session, wait, () -> {}, names);
    }

    CompletableFuture<Granted> acquire(long key, Opened session, long wait, Runnable gone, String... names) {
        CompletableFuture<Granted> reply = new CompletableFuture<>();
        AcquireSpec spec = new AcquireSpec(List.of(names), Mode.EXCLUSIVE, 0, Map.of(), 0, 0);
        engine.acquire(key, session, spec, wait, ms(5_000), reply, gone, now);
        return reply;
    }

    CompletableFuture<Granted> acquire(Opened session, String name) {
        return acquire(session, Clock.NEVER, name);
    }

    void grant(Command command, long token) {
        answer(
                command,
                Answer.newBuilder()
                        .setAcquire(
                                AcquireResponse.newBuilder().setAcquired(true).setToken(token)));
    }

    void released(Command command) {
        answer(command, Answer.newBuilder().setRelease(ReleaseResponse.getDefaultInstance()));
    }

    void kept(Command command, String id) {
        KeptSession kept = KeptSession.newBuilder()
                .setSessionId(id)
                .setTtl(Convert.toWire(TTL))
                .build();
        answer(
                command,
                Answer.newBuilder().setKeepAlive(KeepAliveResponse.newBuilder().addSessions(kept)));
    }

    void attached(Command command, Session.Builder session, long revision) {
        AttachedSession attached = AttachedSession.newBuilder()
                .setSession(session)
                .setRevision(revision)
                .build();
        answer(command, Answer.newBuilder().setAttachedSession(attached));
    }
}
