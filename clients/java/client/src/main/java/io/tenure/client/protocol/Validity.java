package io.tenure.client.protocol;

import com.google.protobuf.Duration;
import io.tenure.client.LostReason;
import io.tenure.client.v1.OpenState;
import org.jspecify.annotations.Nullable;

/**
 * The validity of a session, as its server computed it: it counts from when the last acknowledged renewal was sent, never from when
 * the acknowledgement arrived. Times are in nanoseconds.
 *
 * @param renewed when the last acknowledged renewal was sent
 * @param renewAfter when the next renewal is due, from then
 * @param warnAfter when the session is at risk, from then
 * @param validFor when it is lost, from then
 * @param isPaused whether it is not renewed, because the program makes no progress
 */
public record Validity(long renewed, long renewAfter, long warnAfter, long validFor, boolean isPaused) {
    static Validity of(OpenState state, long renewed, boolean isPaused) {
        return new Validity(
                renewed,
                nanos(state.getRenewAfter()),
                nanos(state.getWarnAfter()),
                nanos(state.getValidFor()),
                isPaused);
    }

    private static long nanos(Duration duration) {
        return duration.getSeconds() * 1_000_000_000 + duration.getNanos();
    }

    Validity renewed(long sent) {
        return new Validity(sent, renewAfter, warnAfter, validFor, isPaused);
    }

    Validity paused(boolean isNow) {
        return new Validity(renewed, renewAfter, warnAfter, validFor, isNow);
    }

    /** From when on the session is at risk. */
    public long atRiskFrom() {
        return renewed + Math.min(warnAfter, validFor);
    }

    /** From when on the session is lost. */
    public long until() {
        return renewed + validFor;
    }

    /** Why it is lost, if it is: finally, since the server may have granted its locks to others. */
    public @Nullable LostReason loss(long now) {
        if (now < until()) {
            return null;
        }
        return LostReason.of(isPaused ? LostReason.Kind.STALLED : LostReason.Kind.UNRENEWED);
    }
}
