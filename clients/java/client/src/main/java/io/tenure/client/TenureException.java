package io.tenure.client;

import java.io.Serial;

/** Why a call did not do what it was asked. That somebody else holds a lock is no error: see {@link Attempt.Busy}. */
public abstract sealed class TenureException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    private TenureException(String message) {
        super(message);
    }

    /** Whether the same call may well succeed later, at this or another server. */
    public boolean isTransient() {
        return false;
    }

    /** No server answered within the call's deadline. What was asked may or may not have taken effect. */
    public static final class Unavailable extends TenureException {
        @Serial
        private static final long serialVersionUID = 1L;

        public Unavailable(String problem) {
            super("no server answered in time: " + problem);
        }

        @Override
        public boolean isTransient() {
            return true;
        }
    }

    /** The server refused. Decide by {@link Refusal#reason}, never by the text. */
    public static final class Refused extends TenureException {
        @Serial
        private static final long serialVersionUID = 1L;

        private final transient Refusal refusal;

        public Refused(Refusal refusal) {
            super(refusal.toString());
            this.refusal = refusal;
        }

        /** What the server refused with. */
        public Refusal refusal() {
            return refusal;
        }

        /** Why. */
        public Refusal.Reason reason() {
            return refusal.reason();
        }

        @Override
        public boolean isTransient() {
            return refusal.isTransient();
        }
    }

    /** The session or the hold has been lost. */
    public static final class Lost extends TenureException {
        @Serial
        private static final long serialVersionUID = 1L;

        private final transient LostReason reason;

        public Lost(LostReason reason) {
            super("lost: " + reason);
            this.reason = reason;
        }

        /** Why. */
        public LostReason reason() {
            return reason;
        }
    }

    /** An option cannot be used. Nothing was asked of a server. */
    public static final class Invalid extends TenureException {
        @Serial
        private static final long serialVersionUID = 1L;

        private final String field;

        public Invalid(String field, String problem) {
            super("invalid " + field + ": " + problem);
            this.field = field;
        }

        /** Which option. */
        public String field() {
            return field;
        }
    }

    /** The client was closed. */
    public static final class Closed extends TenureException {
        @Serial
        private static final long serialVersionUID = 1L;

        public Closed() {
            super("the client was closed");
        }
    }

    /** The user's own database has seen a higher token: another holder has taken over. End the work; trying again is in vain. */
    public static final class StaleToken extends TenureException {
        @Serial
        private static final long serialVersionUID = 1L;

        private final String name;
        private final long token;
        private final long highest;

        public StaleToken(String name, long token, long highest) {
            super("stale fencing token " + token + ": " + highest + " is the highest seen for " + name);
            this.name = name;
            this.token = token;
            this.highest = highest;
        }

        /** What is protected. */
        public String name() {
            return name;
        }

        /** The token that was refused. */
        public long token() {
            return token;
        }

        /** The highest one that the database has seen for the name. */
        public long highest() {
            return highest;
        }
    }
}
