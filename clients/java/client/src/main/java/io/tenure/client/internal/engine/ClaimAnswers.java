package io.tenure.client.internal.engine;

import io.tenure.client.Claim;
import io.tenure.client.EndReason;
import io.tenure.client.LostReason;
import io.tenure.client.Refusal;
import io.tenure.client.TenureException;
import io.tenure.client.TransferRequest;
import io.tenure.client.internal.Clock;
import io.tenure.client.internal.Convert;
import io.tenure.client.internal.HoldPresence;
import io.tenure.client.internal.Ticks;
import io.tenure.client.internal.engine.ClaimEntry.Stage;
import io.tenure.client.v1.AcquireResponse;
import io.tenure.client.v1.Answer;
import io.tenure.client.v1.HoldEnded;
import io.tenure.client.v1.TransferRequested;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the server answers about claims, and tells about holds. */
final class ClaimAnswers {
    private static final Logger LOG = System.getLogger(ClaimAnswers.class.getName());

    private final Engine engine;
    private final Claims claims;

    ClaimAnswers(Engine engine, Claims claims) {
        this.engine = engine;
        this.claims = claims;
    }

    void answered(Live live, ClaimEntry claim, long command, Answer answer, long now) {
        // What was said before the session was moved, or the claim ended, does not count.
        if (live.claims.get(claim.key) != claim || claim.command != command) {
            return;
        }
        switch (answer.getKindCase()) {
            case ACQUIRE -> acquired(live, claim, answer.getAcquire(), now);
            case RELEASE, CANCEL_ACQUIRE -> {
                claims.end(live, claim, now);
                succeed(claim);
            }
            case REFUSAL -> refused(live, claim, Convert.refusal(answer.getRefusal()), now);
            default -> engine.misfit(answer);
        }
    }

    private static void succeed(ClaimEntry claim) {
        if (claim.released != null) {
            claim.released.complete(null);
        }
    }

    private void acquired(Live live, ClaimEntry claim, AcquireResponse answer, long now) {
        claim.command = 0;
        if (claim.stage == Stage.STOPPING) {
            if (answer.getAcquired()) {
                claims.send(live, claim, now);
            } else {
                claims.end(live, claim, now);
            }
        } else if (claim.stage == Stage.ASKING) {
            if (answer.getAcquired()) {
                granted(live, claim, answer.getToken(), now);
            } else if (claim.waitUntil == Clock.NEVER) {
                // Nothing ends a wait without end but its client: so it is asked anew.
                sendLater(live, claim, now);
            } else {
                Claim holder = answer.hasHolder() ? Convert.claim(answer.getHolder()) : null;
                claims.end(live, claim, now);
                claim.acquired.complete(new Granted(null, holder));
            }
        }
    }

    private void granted(Live live, ClaimEntry claim, long token, long now) {
        Ticks ticks = null;
        if (claim.spec.stallAfter() > 0) {
            ticks = new Ticks(claim.spec.stallAfter(), now);
            live.needTicks(claim.key, ticks);
        }
        HoldPresence hold = new HoldPresence(live.presence, claim.spec.names(), token, ticks, engine.clock);
        claim.hold = hold;
        claim.stage = Stage.HELD;
        engine.timers.clear(claim.waitTimer);
        engine.timers.clear(claim.answerTimer);
        Answer early = claim.early;
        claim.early = null;
        if (early != null) {
            engine.noticed(early, now);
        }
        if (!claim.acquired.complete(new Granted(hold, null))) {
            // Nobody waits for it any more.
            claims.drop(live.id, claim.key, now);
        }
    }

    private void sendLater(Live live, ClaimEntry claim, long now) {
        engine.timers.set(now + claim.backoff.next(), later -> claims.send(live, claim, later));
    }

    private void refused(Live live, ClaimEntry claim, Refusal refusal, long now) {
        if (engine.sessions.endedByRefusal(live.id, refusal, now)) {
            return;
        }
        boolean forNow = engine.isForNow(refusal);
        if (refusal.reason() == Refusal.Reason.NOT_ATTACHED) {
            engine.sessions.moved(live.id, now);
            return;
        }
        claim.command = 0;
        if (claim.stage == Stage.STOPPING) {
            // Whatever the refusal says: it was about the acquire.
            claims.send(live, claim, now);
            return;
        }
        // The server gave the place in the queue up because it did not see this client in time: it is still wanted.
        boolean isUnseen = claim.stage == Stage.ASKING
                && refusal.reason() == Refusal.Reason.CLAIM_ENDED
                && Convert.endReason(refusal) == EndReason.DISCONNECTED;
        if (forNow || isUnseen) {
            claim.refusal = refusal;
            sendLater(live, claim, now);
            return;
        }
        Stage stage = claim.stage;
        claims.end(live, claim, now);
        switch (stage) {
            case ASKING -> claim.acquired.completeExceptionally(new TenureException.Refused(refusal));
            case RELEASING -> {
                if (claim.released != null) {
                    claim.released.completeExceptionally(ofRelease(refusal));
                }
            }
            default -> LOG.log(Level.WARNING, "a claim was not withdrawn: {0}", refusal);
        }
    }

    /**
     * What a release fails with that was refused: if the hold had been lost before, with that. (That it was released before is no
     * refusal: servers answer a repetition as they did the first time.)
     */
    private static TenureException ofRelease(Refusal refusal) {
        EndReason reason = Convert.endReason(refusal);
        return refusal.reason() == Refusal.Reason.HOLD_ENDED && reason != null
                ? new TenureException.Lost(LostReason.ended(reason, null, null))
                : new TenureException.Refused(refusal);
    }

    /** The server says that a hold has ended. */
    void holdEnded(HoldEnded ended, Answer notice, long now) {
        Live live = engine.sessions.get(ended.getSessionId());
        if (live == null) {
            return;
        }
        ClaimEntry claim = find(live, ended.getToken());
        if (claim == null) {
            keep(live, ended.getNamesList(), notice);
            return;
        }
        LostReason reason = LostReason.ended(
                Convert.endReason(ended.getReason()),
                Convert.optional(ended.getOperator()),
                Convert.optional(ended.getNote()));
        claims.endHold(live, claim, reason, now);
    }

    /** The server asks a holder to hand over. */
    void transferRequested(TransferRequested request, Answer notice, long now) {
        Live live = engine.sessions.get(request.getSessionId());
        if (live == null) {
            return;
        }
        ClaimEntry claim = find(live, request.getToken());
        if (claim == null || claim.hold == null) {
            keep(live, request.getNamesList(), notice);
            return;
        }
        claim.hold.handOver(new TransferRequest(
                Convert.fromWire(request.getDrain()),
                Convert.optional(request.getOperator()),
                Convert.optional(request.getNote()),
                now));
    }

    private static @Nullable ClaimEntry find(Live live, long token) {
        for (ClaimEntry claim : live.claims.values()) {
            if (claim.holds(token)) {
                return claim;
            }
        }
        return null;
    }

    /**
     * Keeps a notice about a hold that is not known here, until it is known whether these locks were granted: answers and notices
     * come by different ways through the server, and the one may overtake the other.
     */
    private static void keep(Live live, List<String> names, Answer notice) {
        for (ClaimEntry claim : live.claims.values()) {
            if (claim.stage == Stage.ASKING && claim.spec.names().equals(names)) {
                claim.early = notice;
                return;
            }
        }
    }
}
