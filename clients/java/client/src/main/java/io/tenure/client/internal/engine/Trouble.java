package io.tenure.client.internal.engine;

import io.tenure.client.Refusal;
import io.tenure.client.TenureException;
import org.jspecify.annotations.Nullable;

/**
 * Why there is no stream.
 *
 * @param problem for people
 * @param refusal what a server refused this client's credentials with; null: it is something else, which may pass by itself
 */
public record Trouble(String problem, @Nullable Refusal refusal) {
    /** No server can be reached. */
    public static Trouble unreachable(String problem) {
        return new Trouble(problem, null);
    }

    /** A server does not know who this is. */
    public static Trouble unauthenticated(Refusal refusal) {
        return new Trouble(refusal.toString(), refusal);
    }

    /** What to tell who has waited for a server. */
    public TenureException error() {
        return refusal == null ? new TenureException.Unavailable(problem) : new TenureException.Refused(refusal);
    }
}
