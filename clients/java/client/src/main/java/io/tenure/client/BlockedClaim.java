package io.tenure.client;

import java.util.List;

/**
 * A claim that waits.
 *
 * @param claim the claim; its {@code deadlock} says whether it waits in vain
 * @param blockedBy those that it waits for: of each of its locks, the waiter just before it, or the holders in its way
 * @param truncated whether it waits for more claims than the server lists
 */
public record BlockedClaim(Claim claim, List<Claim> blockedBy, boolean truncated) {
    public BlockedClaim {
        blockedBy = List.copyOf(blockedBy);
    }
}
