package io.tenure.client.internal.engine;

import io.tenure.client.EndReason;
import io.tenure.client.LostReason;
import io.tenure.client.Refusal;
import io.tenure.client.TenureException;
import io.tenure.client.internal.Clock;
import io.tenure.client.internal.Convert;
import io.tenure.client.internal.SessionPresence;
import io.tenure.client.v1.Answer;
import io.tenure.client.v1.Command;
import io.tenure.client.v1.SessionEnded;
import io.tenure.client.v1.StreamResponse;
import io.tenure.client.v1.WatchRequest;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The state of a client: which sessions, claims and watches there are, and what has to be said to a server about them. No I/O and no
 * threads: one thread at a time passes in the time, what has been received and what has been asked, and takes out what is to be
 * sent. (The clock is handed to the handles, who look at it themselves.)
 *
 * <p>Recovery is the ordinary path: all commands are such that sending them again is harmless, so whatever is not answered yet is
 * sent anew on each new stream.
 */
public final class Engine {
    private static final Logger LOG = System.getLogger(Engine.class.getName());
    /** A stream on which nothing was heard for so long is probed, so that one that died in silence is noticed ... */
    private static final long PROBE_INTERVAL = 5_000_000_000L;
    /** ... if the answer takes longer than this. */
    private static final long PROBE_TIMEOUT = 3_000_000_000L;

    final Clock clock;
    final String namespace;
    /** Tells the client's sessions apart from those of other programs that use the same ids. */
    final String clientId;

    final Timers timers = new Timers();
    final Sessions sessions = new Sessions(this);
    final Openings openings = new Openings(this);
    final Closings closings = new Closings(this);
    final Claims claims = new Claims(this);
    private final Watches watches = new Watches(this);

    private @Nullable Stream stream;
    /** The last command of the streams before this one: their numbers are not used again. */
    private long lastCommand;
    /** When something was heard on the stream. */
    private long heard;

    private Verdict verdict = Verdict.GOOD;
    /** Why there is no stream. */
    private String problem = "not connected yet";

    private boolean isShuttingDown;
    private @Nullable CompletableFuture<Void> shutDown;

    /**
     * The state of a client that has asked for nothing yet.
     *
     * @param clientId random
     */
    public Engine(String namespace, String clientId, Clock clock) {
        this.namespace = namespace;
        this.clientId = clientId;
        this.clock = clock;
    }

    /** Opens a session. */
    public void open(OpenSpec spec, long giveUp, CompletableFuture<Opened> reply, long now) {
        if (isOpen(reply)) {
            openings.open(spec, giveUp, reply, now);
        }
    }

    /** Nobody waits any more for a session to be opened. */
    public void dropOpening(String id, CompletableFuture<Opened> reply, long now) {
        openings.drop(id, reply, now);
    }

    /** Closes a session. Its presence tells it apart from a later one of the same id. */
    public void close(String id, SessionPresence presence, long giveUp, CompletableFuture<Void> reply, long now) {
        if (!isOpen(reply)) {
            return;
        }
        if (!sessions.contains(id) || sessions.get(id, presence) != null) {
            closings.close(id, giveUp, reply, now);
        } else {
            reply.complete(null);
        }
    }

    /** Closes a session that nobody waits for. */
    public void closeUnasked(String id, SessionPresence presence, long now) {
        if (sessions.get(id, presence) != null) {
            closings.closeUnasked(id, now);
        }
    }

    /**
     * Asks for locks.
     *
     * @param wait how long to wait: 0 tries once, {@link Clock#NEVER} waits for ever
     * @param patience how much longer to wait for the server's answer
     * @param gone called when the claim is over, unless its session is
     */
    public void acquire(
            long key,
            Opened session,
            AcquireSpec spec,
            long wait,
            long patience,
            CompletableFuture<Granted> reply,
            Runnable gone,
            long now) {
        if (isOpen(reply)) {
            long until = wait == Clock.NEVER ? Clock.NEVER : Clock.after(now, wait);
            long giveUp = Clock.after(until, patience);
            ClaimEntry claim = new ClaimEntry(key, spec, until, giveUp, reply, gone);
            claims.acquire(session.id(), session.presence(), claim, wait == 0, now);
        }
    }

    /** Gives a hold back. */
    public void release(String session, long key, long giveUp, CompletableFuture<Void> reply, long now) {
        if (isOpen(reply)) {
            claims.release(session, key, reply, giveUp, now);
        }
    }

    /** Nobody wants the claim any more, wherever it stands. */
    public void dropClaim(String session, long key, long now) {
        claims.drop(session, key, now);
    }

    /** Starts a watch. */
    public void startWatch(WatchSink sink, WatchRequest options, long now) {
        if (isShuttingDown) {
            sink.end(null);
        } else {
            watches.start(sink, options, now);
        }
    }

    /** The reader of a watch that was paused has caught up. */
    public void resumeWatch(WatchSink sink, long now) {
        watches.resume(sink, now);
    }

    /** Nobody reads a watch any more. */
    public void dropWatch(WatchSink sink) {
        watches.drop(sink);
    }

    private boolean isOpen(CompletableFuture<?> reply) {
        if (isShuttingDown) {
            reply.completeExceptionally(new TenureException.Closed());
        }
        return !isShuttingDown;
    }

    /** Closes all sessions and ends all watches. */
    public void shutDown(long giveUp, CompletableFuture<Void> reply, long now) {
        if (isShuttingDown) {
            reply.complete(null);
            return;
        }
        isShuttingDown = true;
        shutDown = reply;
        timers.set(giveUp, later -> {
            reply.completeExceptionally(inVain(null));
            closings.clear();
            sessions.clear();
        });
        watches.endAll();
        openings.abandonAll(TenureException.Closed::new, now);
        sessions.all().forEach(live -> closings.closeUnasked(live.id, now));
    }

    /** Whether it was asked to shut down and has. */
    public boolean isShutDown() {
        return isShuttingDown && closings.isEmpty() && sessions.isEmpty();
    }

    /** Nothing will be done any more: tells who asked for that. */
    public void tellShutDown() {
        if (shutDown != null) {
            shutDown.complete(null);
        }
    }

    /** A stream was opened: all that is not settled is said on it anew. */
    public void connected(long now) {
        detachAll();
        Stream opened = new Stream(lastCommand);
        stream = opened;
        verdict = Verdict.GOOD;
        heard = now;
        timers.set(now + PROBE_INTERVAL, later -> probe(opened, later));
        sessions.all().forEach(live -> sessions.attach(live, now));
        openings.sendAll(now);
        closings.sendAll(now);
        watches.sendAll(now);
    }

    /** The stream is gone. */
    public void disconnected(String why) {
        detachAll();
        problem = why;
    }

    /**
     * Why there is no stream. Sessions that are open go on as long as they are good; nobody waits for one to be opened where the
     * credentials are refused.
     */
    public void trouble(Trouble why, long now) {
        problem = why.problem();
        if (why.refusal() != null) {
            openings.abandonAll(why::error, now);
        }
    }

    /** Takes in what was received on the stream that was connected last. */
    public void received(StreamResponse response, long now) {
        heard = now;
        for (Answer answer : response.getAnswersList()) {
            if (answer.getId() == 0) {
                noticed(answer, now);
            } else if (stream != null) {
                stream.received(answer, now);
            }
        }
    }

    void noticed(Answer notice, long now) {
        switch (notice.getKindCase()) {
            case SESSION_ENDED -> {
                SessionEnded ended = notice.getSessionEnded();
                EndReason reason = Convert.endReason(ended.getReason());
                sessions.ended(ended.getSessionId(), LostReason.ended(reason, null, null), now);
            }
            case HOLD_ENDED -> claims.answers().holdEnded(notice.getHoldEnded(), notice, now);
            case TRANSFER_REQUESTED -> claims.answers().transferRequested(notice.getTransferRequested(), notice, now);
            case SESSION_MOVED -> sessions.moved(notice.getSessionMoved().getSessionId(), now);
            case GOING_AWAY -> judge(Verdict.LEAVE);
            default -> LOG.log(Level.DEBUG, "a notice that this version does not know: {0}", notice.getKindCase());
        }
    }

    /** What became of the stream since this was asked last. */
    public Verdict takeVerdict() {
        Verdict taken = verdict;
        verdict = Verdict.GOOD;
        return taken;
    }

    /** Whether every session has come over to the stream. */
    public boolean isSettled() {
        return stream != null && sessions.areAllAttached();
    }

    /** The shortest time for which a renewal of a session is good; {@link Clock#NEVER} without sessions. */
    public long shortestWindow() {
        return sessions.shortestWindow();
    }

    /** Whether there is something to send. */
    public boolean hasOutgoing() {
        return stream != null && stream.hasOutgoing();
    }

    /** What is to be sent next: at most so many commands. */
    public List<Command> takeOutgoing(int most) {
        return stream == null ? List.of() : stream.takeOutgoing(most);
    }

    /** When to call {@link #due} next. */
    public long nextDeadline() {
        return timers.next();
    }

    /** Does what is due. */
    public void due(long now) {
        timers.fire(now);
    }

    boolean hasStream() {
        return stream != null;
    }

    /** Sends a command on the stream that there is. Answers its id. */
    long send(Command.Builder command, Stream.Handler handler, long now) {
        return stream == null ? 0 : stream.send(command, handler, now);
    }

    /** Ends a command that goes on. */
    void cancel(long command) {
        if (stream != null) {
            stream.cancel(command);
        }
    }

    void forget(long command) {
        if (stream != null) {
            stream.forget(command);
        }
    }

    boolean isUnanswered(long command) {
        return stream != null && stream.isUnanswered(command);
    }

    /** The stream counts as broken unless the command is answered by then. */
    void breakIfSilent(long command, long at) {
        timers.set(at, later -> {
            if (isUnanswered(command)) {
                judge(Verdict.BROKEN);
            }
        });
    }

    /** Asks for an answer of no meaning if nothing was heard for long. */
    private void probe(Stream probed, long now) {
        if (stream != probed) {
            return;
        }
        if (now >= heard + PROBE_INTERVAL) {
            long asked = now;
            probed.cancel(0);
            timers.set(now + PROBE_TIMEOUT, later -> {
                if (stream == probed && heard < asked) {
                    judge(Verdict.BROKEN);
                }
            });
        }
        timers.set(Math.max(heard, now) + PROBE_INTERVAL, later -> probe(probed, later));
    }

    /** A broken stream stays broken. */
    void judge(Verdict judged) {
        if (verdict != Verdict.BROKEN) {
            verdict = judged;
        }
    }

    /** An answer does not fit the question. */
    void misfit(Answer answer) {
        LOG.log(Level.ERROR, "the server gave an answer that does not fit the question: {0}", answer.getKindCase());
        judge(Verdict.BROKEN);
    }

    /** Whether a refusal is for now only. If it is this server's alone, another one is looked for. */
    boolean isForNow(Refusal refusal) {
        switch (refusal.reason()) {
            case LEASE_LOST, DRAINING -> judge(Verdict.LEAVE);
            default -> {}
        }
        return refusal.isTransient();
    }

    /** To how many attachments a session's client has counted, if a refusal says so; else 0. */
    static long counted(Refusal refusal) {
        String count = refusal.reason() == Refusal.Reason.LATE_ATTACHMENT ? refusal.fact("attachment") : null;
        return count == null ? 0 : Long.parseLong(count);
    }

    /** What to tell who has waited in vain. */
    TenureException inVain(@Nullable Refusal refusal) {
        if (refusal != null) {
            return new TenureException.Refused(refusal);
        }
        return new TenureException.Unavailable(stream != null ? "the server did not answer" : problem);
    }

    private void detachAll() {
        if (stream != null) {
            lastCommand = stream.lastCommand();
            stream = null;
        }
        sessions.detachAll();
        openings.detachAll();
        closings.detachAll();
        watches.detachAll();
    }
}
