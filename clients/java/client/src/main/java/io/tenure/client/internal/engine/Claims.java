package io.tenure.client.internal.engine;

import io.tenure.client.Claim;
import io.tenure.client.LostReason;
import io.tenure.client.Refusal;
import io.tenure.client.TenureException;
import io.tenure.client.TransferRequest;
import io.tenure.client.internal.Clock;
import io.tenure.client.internal.Convert;
import io.tenure.client.internal.HoldPresence;
import io.tenure.client.internal.SessionPresence;
import io.tenure.client.internal.engine.ClaimEntry.Stage;
import io.tenure.client.v1.AcquireRequest;
import io.tenure.client.v1.CancelAcquireRequest;
import io.tenure.client.v1.ClaimState;
import io.tenure.client.v1.Command;
import io.tenure.client.v1.Mode;
import io.tenure.client.v1.ReleaseRequest;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Claims: acquires from asking, by way of the local queue, to the end of the hold. */
final class Claims {
    private static final Logger LOG = System.getLogger(Claims.class.getName());

    private final Engine engine;
    private final ClaimAnswers answers;

    Claims(Engine engine) {
        this.engine = engine;
        this.answers = new ClaimAnswers(engine, this);
    }

    ClaimAnswers answers() {
        return answers;
    }

    /** Asks for locks, once it is the claim's turn. */
    void acquire(String id, SessionPresence presence, ClaimEntry claim, boolean isTry, long now) {
        Live live = engine.sessions.get(id, presence);
        if (live == null) {
            LostReason lost = presence.lost();
            LostReason reason = lost == null ? LostReason.of(LostReason.Kind.FORGOTTEN) : lost;
            claim.acquired.completeExceptionally(new TenureException.Lost(reason));
            return;
        }
        if (isTry) {
            ClaimEntry first = live.turns.firstInWay(claim.spec.names());
            if (first != null) {
                claim.acquired.complete(new Granted(null, first.describe(live.id, live.owner)));
                claim.gone.run();
                return;
            }
        } else if (claim.waitUntil != Clock.NEVER) {
            claim.waitTimer = engine.timers.set(claim.waitUntil, later -> waited(live, claim, later));
        }
        if (claim.giveUp != Clock.NEVER) {
            claim.answerTimer = engine.timers.set(claim.giveUp, later -> giveUp(live, claim, later));
        }
        live.claims.put(claim.key, claim);
        if (live.turns.join(claim)) {
            claim.stage = Stage.ASKING;
            send(live, claim, now);
        }
    }

    /** The session was attached: says all that its claims need. */
    void sendAll(Live live, long now) {
        List.copyOf(live.claims.values()).forEach(claim -> send(live, claim, now));
    }

    /** Says what the claim needs, if it needs anything and no answer is under way. */
    void send(Live live, ClaimEntry claim, long now) {
        boolean isThere = engine.sessions.get(live.id) == live && live.claims.get(claim.key) == claim;
        if (!isThere || !live.isAttached() || claim.command != 0 || !engine.hasStream()) {
            return;
        }
        if (claim.stage == Stage.ASKING && live.isHeldBack(now)) {
            engine.timers.set(live.lookForProgress(now), later -> send(live, claim, later));
            return;
        }
        Command.Builder command = Command.newBuilder();
        switch (claim.stage) {
            case ASKING -> command.setAcquire(acquireRequest(live, claim, now));
            case RELEASING ->
                command.setRelease(release(live, claim.spec.names().get(0), token(claim)));
            case STOPPING, WITHDRAWING -> {
                command.setCancelAcquire(withdrawal(live, claim.spec.names()));
                claim.stage = Stage.WITHDRAWING;
            }
            default -> {
                return;
            }
        }
        claim.command = engine.send(
                command, (number, answer, sent, then) -> answers.answered(live, claim, number, answer, then), now);
    }

    private static long token(ClaimEntry claim) {
        return claim.hold == null ? 0 : claim.hold.token();
    }

    private AcquireRequest acquireRequest(Live live, ClaimEntry claim, long now) {
        AcquireSpec spec = claim.spec;
        AcquireRequest.Builder message = AcquireRequest.newBuilder()
                .setNamespace(engine.namespace)
                .addAllNames(spec.names())
                .setSessionId(live.id)
                .setPriority(spec.priority())
                .putAllMetadata(spec.metadata());
        if (claim.waitUntil != Clock.NEVER) {
            message.setWait(Convert.toWire(Clock.since(claim.waitUntil, now)));
        }
        if (spec.minHold() > 0) {
            message.setMinHold(Convert.toWire(spec.minHold()));
        }
        switch (spec.mode().kind()) {
            case SHARED -> message.setMode(Mode.MODE_SHARED);
            case PERMITS -> {
                message.setMode(Mode.MODE_PERMITS).setPermits(spec.mode().permits());
                Integer limit = spec.mode().limit();
                message.setLimit(limit == null ? 0 : limit);
            }
            default -> message.setMode(Mode.MODE_EXCLUSIVE);
        }
        return message.build();
    }

    private ReleaseRequest release(Live live, String name, long token) {
        return ReleaseRequest.newBuilder()
                .setNamespace(engine.namespace)
                .setName(name)
                .setSessionId(live.id)
                .setToken(token)
                .build();
    }

    private CancelAcquireRequest withdrawal(Live live, List<String> names) {
        return CancelAcquireRequest.newBuilder()
                .setNamespace(engine.namespace)
                .addAllNames(names)
                .setSessionId(live.id)
                .build();
    }

    /** Gives a hold back; for nobody who waits for that if there is no reply. */
    void release(String id, long key, @Nullable CompletableFuture<Void> reply, long giveUp, long now) {
        Live live = engine.sessions.get(id);
        ClaimEntry claim = live == null ? null : live.claims.get(key);
        if (live == null || claim == null || claim.stage != Stage.HELD || claim.hold == null) {
            // It ended between the asking and now.
            if (reply != null) {
                LostReason reason = LostReason.of(LostReason.Kind.FORGOTTEN);
                reply.completeExceptionally(new TenureException.Lost(reason));
            }
            return;
        }
        live.needTicksNoMore(key);
        claim.hold.end(LostReason.of(LostReason.Kind.RELEASED));
        claim.stage = Stage.RELEASING;
        claim.released = reply;
        engine.timers.clear(claim.answerTimer);
        if (reply != null) {
            claim.answerTimer =
                    engine.timers.set(giveUp, later -> reply.completeExceptionally(engine.inVain(claim.refusal)));
        }
        send(live, claim, now);
    }

    /** Nobody wants the claim any more, wherever it stands. */
    void drop(String id, long key, long now) {
        Live live = engine.sessions.get(id);
        ClaimEntry claim = live == null ? null : live.claims.get(key);
        if (live == null || claim == null) {
            return;
        }
        switch (claim.stage) {
            case QUEUED -> end(live, claim, now);
            case ASKING -> withdraw(live, claim, now);
            case HELD -> release(id, key, null, Clock.NEVER, now);
            case RELEASING, STOPPING, WITHDRAWING -> {}
        }
    }

    /** Asks the server to forget a claim that it was asked for. */
    private void withdraw(Live live, ClaimEntry claim, long now) {
        claim.stage = Stage.STOPPING;
        if (claim.command != 0) {
            // An acquire that is under way has to come to its end first, lest it be granted after it was given up.
            engine.cancel(claim.command);
        } else {
            send(live, claim, now);
        }
    }

    /** A wait in the local queue is over. One at the server the server ends. */
    private void waited(Live live, ClaimEntry claim, long now) {
        if (claim.stage == Stage.QUEUED && live.claims.get(claim.key) == claim) {
            ClaimEntry first = live.turns.firstInWay(claim.spec.names());
            Claim holder = first == null ? null : first.describe(live.id, live.owner);
            end(live, claim, now);
            claim.acquired.complete(new Granted(null, holder));
        }
    }

    /** An answer has not come in time. */
    private void giveUp(Live live, ClaimEntry claim, long now) {
        if (claim.stage == Stage.ASKING && live.claims.get(claim.key) == claim) {
            withdraw(live, claim, now);
            claim.acquired.completeExceptionally(engine.inVain(claim.refusal));
        }
    }

    /** The claim is over: the next ones have their turn. */
    void end(Live live, ClaimEntry claim, long now) {
        if (!live.claims.remove(claim.key, claim)) {
            return;
        }
        live.needTicksNoMore(claim.key);
        engine.timers.clear(claim.waitTimer);
        engine.timers.clear(claim.answerTimer);
        for (ClaimEntry next : live.turns.leave(claim)) {
            if (live.turns.isFirst(next)) {
                if (next.stage == Stage.QUEUED) {
                    next.stage = Stage.ASKING;
                }
                send(live, next, now);
            }
        }
        claim.gone.run();
    }

    /** The session is lost, and the claim with it. */
    void lose(ClaimEntry claim, LostReason reason) {
        engine.timers.clear(claim.waitTimer);
        engine.timers.clear(claim.answerTimer);
        claim.lose(reason);
    }

    /** Ends a hold that is not this client's any more. */
    void endHold(Live live, ClaimEntry claim, LostReason reason, long now) {
        HoldPresence hold = claim.hold;
        if (hold != null) {
            LOG.log(Level.WARNING, "the hold of token {0} is lost: {1}", Long.toString(hold.token()), reason);
            hold.end(reason);
        }
        end(live, claim, now);
    }

    /** The session was attached: compares what the server knows of with what is known here. */
    void compare(Live live, List<io.tenure.client.v1.Claim> known, long revision, long now) {
        for (ClaimEntry claim : List.copyOf(live.claims.values())) {
            HoldPresence hold = claim.hold;
            if (claim.stage != Stage.HELD || hold == null) {
                continue;
            }
            io.tenure.client.v1.Claim found = known.stream()
                    .filter(there ->
                            there.getState() == ClaimState.CLAIM_STATE_HELD && there.getToken() == hold.token())
                    .findFirst()
                    .orElse(null);
            if (found == null && hold.token() <= revision) {
                // One that was granted after this revision it could not know of yet.
                endHold(live, claim, LostReason.of(LostReason.Kind.FORGOTTEN), now);
            } else if (found != null && found.hasTransfer() && hold.handoff() == null) {
                hold.handOver(
                        new TransferRequest(Convert.fromWire(found.getTransfer().getDrain()), null, null, now));
            }
        }
        for (io.tenure.client.v1.Claim there : known) {
            boolean isKnown = live.claims.values().stream()
                    .anyMatch(claim -> claim.spec.names().equals(there.getNamesList()));
            if (!isKnown) {
                giveBack(live, there, now);
            }
        }
    }

    /** Gives back what nobody here holds or asks for: this client has done so before, but the database has lost that. */
    private void giveBack(Live live, io.tenure.client.v1.Claim stray, long now) {
        Command.Builder command = Command.newBuilder();
        switch (stray.getState()) {
            case CLAIM_STATE_HELD -> command.setRelease(release(live, stray.getNames(0), stray.getToken()));
            case CLAIM_STATE_WAITING -> command.setCancelAcquire(withdrawal(live, stray.getNamesList()));
            default -> {
                return;
            }
        }
        LOG.log(Level.WARNING, "gives back {0} of session {1}, as it did before", stray.getNamesList(), live.id);
        engine.send(
                command,
                (number, answer, sent, then) -> {
                    if (answer.hasRefusal()) {
                        // What it leaves behind is looked at again when the session is attached again.
                        Refusal refusal = Convert.refusal(answer.getRefusal());
                        boolean isOver = engine.sessions.endedByRefusal(live.id, refusal, then);
                        if (!isOver && (engine.isForNow(refusal) || refusal.reason() == Refusal.Reason.NOT_ATTACHED)) {
                            engine.sessions.moved(live.id, then);
                        }
                    }
                },
                now);
    }
}
