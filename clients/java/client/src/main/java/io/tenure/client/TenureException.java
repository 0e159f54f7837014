package io.tenure.client;

import io.tenure.client.v1.ErrorReason;
import io.tenure.client.v1.Refusal;
import java.util.EnumSet;
import java.util.Set;

/** Why a call failed. A lock held by another claim is no error: see {@link Attempt.Busy}. */
@SuppressWarnings("serial")
public abstract sealed class TenureException extends RuntimeException {
    private TenureException(String message) {
        super(message);
    }

    /** Whether the same call may succeed later, at this or another server. */
    public boolean isTransient() {
        return false;
    }

    /** No server answered within the call's deadline. The request may or may not have taken effect. */
    public static final class Unavailable extends TenureException {
        public Unavailable(String problem) {
            super(problem);
        }

        @Override
        public boolean isTransient() {
            return true;
        }
    }

    /** The server refused. Decide by {@link #reason}, never by the text. */
    public static final class Refused extends TenureException {
        private static final Set<ErrorReason> TRANSIENT = EnumSet.of(
                ErrorReason.ERROR_REASON_STORE_UNAVAILABLE,
                ErrorReason.ERROR_REASON_OUTCOME_UNKNOWN,
                ErrorReason.ERROR_REASON_LEASE_LOST,
                ErrorReason.ERROR_REASON_DRAINING,
                ErrorReason.ERROR_REASON_OVERLOADED);

        private final Refusal refusal;

        public Refused(Refusal refusal) {
            super(refusal.getMessage().isEmpty() ? refusal.getReason() : refusal.getMessage());
            this.refusal = refusal;
        }

        /**
         * The refusal, with its message and the facts that {@link ErrorReason} names for each reason. One that does not come from the
         * service itself, but for example from a proxy, has a code of gRPC and no reason.
         */
        public Refusal refusal() {
            return refusal;
        }

        /** Why. {@code ERROR_REASON_UNSPECIFIED}: for a reason that this version does not know, or without one. */
        public ErrorReason reason() {
            try {
                return ErrorReason.valueOf("ERROR_REASON_" + refusal.getReason());
            } catch (IllegalArgumentException unknown) {
                return ErrorReason.ERROR_REASON_UNSPECIFIED;
            }
        }

        @Override
        public boolean isTransient() {
            return TRANSIENT.contains(reason());
        }
    }

    /** The session or the hold has been lost. */
    public static final class Lost extends TenureException {
        private final LostReason reason;

        public Lost(LostReason reason) {
            super("lost: " + reason);
            this.reason = reason;
        }

        /** Why. */
        public LostReason reason() {
            return reason;
        }
    }

    /** An option is invalid. No request was sent. */
    public static final class Invalid extends TenureException {
        private final String field;

        public Invalid(String field, String problem) {
            super("invalid " + field + ": " + problem);
            this.field = field;
        }

        /** The option, as in {@code connect_timeout}. */
        public String field() {
            return field;
        }
    }

    /** The client, or the watch, was closed. */
    public static final class Closed extends TenureException {
        public Closed() {
            super("the client was closed");
        }
    }

    /** The database has seen a higher fencing token for the name: see {@link io.tenure.client.fence.Fence#check}. */
    public static final class StaleToken extends TenureException {
        private final String name;
        private final long token;
        private final long highest;

        public StaleToken(String name, long token, long highest) {
            super("stale fencing token " + token + ": " + highest + " is the highest seen for " + name);
            this.name = name;
            this.token = token;
            this.highest = highest;
        }

        /** The name that the token was checked for. */
        public String name() {
            return name;
        }

        /** The token that was rejected. */
        public long token() {
            return token;
        }

        /** The highest token that the database has seen. */
        public long highest() {
            return highest;
        }
    }
}
