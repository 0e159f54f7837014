package io.tenure.client;

import io.tenure.client.v1.EndReason;
import io.tenure.client.v1.EndedState;
import java.util.Locale;

/**
 * Why a session or a hold was lost.
 *
 * @param kind the kind of reason
 * @param ended what the server reported, with {@link Kind#ENDED}; otherwise empty
 */
public record LostReason(Kind kind, EndedState ended) {
    /** The kinds of reasons. */
    public enum Kind {
        /** No renewal was answered in time: from now on the server may grant the locks to others. */
        UNRENEWED("no renewal was answered in time"),
        /** No renewal was sent, because the program made no progress: the server may grant the locks to others. */
        STALLED("not renewed, because the program made no progress"),
        /** The server reported its end. */
        ENDED("ended"),
        /** The server does not have it, or no longer. */
        FORGOTTEN("the server does not know of it any more"),
        /** Another program uses the client's id. */
        IN_USE("another program uses the client's id"),
        /** This program released the hold. */
        RELEASED("released by this program"),
        /** This program closed the session or the client. */
        CLOSED("closed by this program");

        private final String text;

        Kind(String text) {
            this.text = text;
        }
    }

    /** A reason without a report of the server. */
    public static LostReason of(Kind kind) {
        return new LostReason(kind, EndedState.getDefaultInstance());
    }

    /** What the server reported. */
    public static LostReason of(EndedState ended) {
        boolean isKnown = ended.getReason() != EndReason.END_REASON_UNSPECIFIED;
        return isKnown ? new LostReason(Kind.ENDED, ended) : of(Kind.FORGOTTEN);
    }

    /** The reason for people: of an end, with its operator and note, as in {@code evicted by anna (host is gone)}. */
    @Override
    public String toString() {
        if (kind != Kind.ENDED) {
            return kind.text;
        }
        String word = ended.getReason().name().replace("END_REASON_", "").toLowerCase(Locale.ROOT);
        String by = ended.getOperator().isEmpty() ? "" : " by " + ended.getOperator();
        return word + by + (ended.getNote().isEmpty() ? "" : " (" + ended.getNote() + ")");
    }
}
