package io.tenure.client;

import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A lock, as the server sees it.
 *
 * @param name its name
 * @param holders who holds it, or lingers on it: at most the first 100. Empty: nobody holds it
 * @param waiters who waits, in the order in which they will be served: at most the first 100
 * @param waiterCount how many wait in all
 * @param holderCount how many hold it in all
 * @param limit how many permits may be out at once; null: nobody has said
 * @param settings what an operator has set
 */
public record LockInfo(
        String name,
        List<Claim> holders,
        List<Claim> waiters,
        long waiterCount,
        long holderCount,
        @Nullable Integer limit,
        LockSettings settings) {
    public LockInfo {
        holders = List.copyOf(holders);
        waiters = List.copyOf(waiters);
    }

    /** The first claim that holds it now. A claim that only lingers is not held by anybody. */
    public Optional<Claim> holder() {
        return holders.stream()
                .filter(claim -> claim.state() == Claim.State.HELD)
                .findFirst();
    }
}
