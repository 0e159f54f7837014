package io.tenure.client;

import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Why a session or a hold was lost.
 *
 * @param kind what happened
 * @param endReason why the server ended it; only with {@link Kind#ENDED}
 * @param operator the operator who ended it, if one did
 * @param note the operator's note
 */
public record LostReason(Kind kind, @Nullable EndReason endReason, @Nullable String operator, @Nullable String note) {
    /** What happened. */
    public enum Kind {
        /** This program released the hold. */
        RELEASED("released by this program"),
        /** This program closed the session or the client. */
        CLOSED("closed by this program"),
        /** No renewal was answered in time: from now on the server may give the locks to others. */
        EXPIRED("no renewal was answered in time"),
        /** No renewal was sent, because the program made no {@link Progress}. */
        STALLED("not renewed, because the program made no progress"),
        /** The server knows nothing of it (any more). */
        FORGOTTEN("the server does not know of it any more"),
        /** Another program uses the session's id. */
        IN_USE("another program uses the session's id"),
        /** The server says that it has ended. */
        ENDED("ended");

        private final String text;

        Kind(String text) {
            this.text = text;
        }

        /** The kind in one lowercase word. */
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** A reason without the server's word. */
    public static LostReason of(Kind kind) {
        return new LostReason(kind, null, null, null);
    }

    /** What the server says. */
    public static LostReason ended(EndReason endReason, @Nullable String operator, @Nullable String note) {
        return new LostReason(Kind.ENDED, Objects.requireNonNull(endReason), operator, note);
    }

    @Override
    public String toString() {
        if (kind != Kind.ENDED) {
            return kind.text;
        }
        String by = operator == null ? "" : " by " + operator;
        return endReason + by + (note == null ? "" : " (" + note + ")");
    }
}
