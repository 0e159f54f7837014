package io.tenure.client;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a server refused a call with.
 *
 * @param code why: the contract's {@code ErrorReason} without its prefix, such as {@code NOT_HOLDER}, or a gRPC code that came
 *     without one
 * @param message what is wrong, for people
 * @param metadata the facts, by the names that the contract gives for each reason: {@code field}, {@code bound},
 *     {@code session_id}, {@code holder}, {@code token}, ...
 */
public record Refusal(String code, String message, Map<String, String> metadata) {
    public Refusal {
        metadata = Map.copyOf(metadata);
    }

    /** Why, to decide by. */
    public Reason reason() {
        return Reason.of(code);
    }

    /** One of the facts. */
    public @Nullable String fact(String name) {
        return metadata.get(name);
    }

    /** Whether the same call may well succeed later, at this or another server. */
    public boolean isTransient() {
        return reason().isTransient();
    }

    @Override
    public String toString() {
        return message.isEmpty() ? code : message;
    }

    /** The contract's reasons. */
    public enum Reason {
        /** A field is out of its bounds. Facts: {@code field}, {@code bound}. */
        INVALID_FIELD,
        /** No session of this id is open. Facts: {@code session_id}. */
        SESSION_NOT_FOUND,
        /** The session has ended. Facts: {@code session_id}, {@code end_reason}. */
        SESSION_ENDED,
        /** Another program has opened the session, and it has not ended yet. Facts: {@code session_id}. */
        SESSION_IN_USE,
        /** The session does not hold the lock. Facts: {@code name}, {@code session_id}, {@code holder}. */
        NOT_HOLDER,
        /** The hold with this token has ended. Facts: {@code name}, {@code session_id}, {@code token}, {@code end_reason}. */
        HOLD_ENDED,
        /** The session holds the lock under another token. Facts: {@code name}, {@code session_id}, {@code token}. */
        TOKEN_MISMATCH,
        /** The session has a claim that shares a name with the one asked for, but not all, or is of another mode. */
        CLAIM_OVERLAP,
        /** The claim ended while it waited. Facts: {@code session_id}, {@code end_reason}. */
        CLAIM_ENDED,
        /** The database cannot be reached, so nothing was changed. */
        STORE_UNAVAILABLE,
        /** The server's lease has run out. */
        LEASE_LOST,
        /** The server is shutting down. */
        DRAINING,
        /** A limit of the server is reached. Facts: {@code limit}, {@code bound}. */
        LIMIT_REACHED,
        /** The session is not attached to the client's stream. Facts: {@code session_id}. */
        NOT_ATTACHED,
        /** The database did not answer in time, so it is not known whether the change was made. */
        OUTCOME_UNKNOWN,
        /** The limit that was said is not the lock's. Facts: {@code name}, {@code limit}, {@code asked}. */
        LIMIT_MISMATCH,
        /** Permits were asked for without a limit, of a lock that has none. Facts: {@code name}. */
        LIMIT_UNKNOWN,
        /** The hold cannot be handed over. Facts: {@code name}, {@code obstacle}. */
        TRANSFER_IMPOSSIBLE,
        /** The holder has already been asked to hand over to somebody else. Facts: {@code name}, {@code token}. */
        TRANSFER_PENDING,
        /** The holder did not hand over in time. Facts: {@code name}, {@code token}. */
        TRANSFER_NOT_CONFIRMED,
        /** The session does not lead the group, or not with this token. Facts: {@code group}, {@code leader}, ... */
        NOT_LEADER,
        /** The group has changed since the assignments were computed. */
        STALE_ASSIGNMENT,
        /** The group's config is not the expected one. Facts: {@code group}, {@code config_revision}. */
        CONFIG_CONFLICT,
        /** The session is no member of the group. Facts: {@code group}, {@code session_id}. */
        NOT_MEMBER,
        /** The server has more to do than it can, so nothing was changed. */
        OVERLOADED,
        /** The session has been attached since by a later request. Facts: {@code session_id}, {@code attachment}. */
        LATE_ATTACHMENT,
        /** The server does not know who this client is. Facts: {@code rule}. */
        UNAUTHENTICATED,
        /** This client may not do it. Facts: {@code rule}, {@code verb}, {@code name}, {@code namespace}, {@code session_id}. */
        PERMISSION_DENIED,
        /** A cancel has overtaken the call. Facts: {@code session_id}. */
        ACQUIRE_CANCELLED,
        /** The session that was meant has ended, and another of its id is open. Facts: {@code session_id}, {@code opened_revision}. */
        SESSION_REOPENED,
        /** Another program uses this client's id. Facts: {@code client_id}. */
        CLIENT_SUPERSEDED,
        /** The session is a member of the group already. Facts: {@code group}, {@code session_id}. */
        MEMBERSHIP_OVERLAP,
        /** A reason that this version does not know, or a gRPC code that came without one. */
        OTHER;

        private static Reason of(String code) {
            for (Reason reason : values()) {
                if (reason.name().equals(code)) {
                    return reason;
                }
            }
            return OTHER;
        }

        private boolean isTransient() {
            return switch (this) {
                case STORE_UNAVAILABLE, OUTCOME_UNKNOWN, LEASE_LOST, DRAINING, OVERLOADED -> true;
                default -> false;
            };
        }
    }
}
