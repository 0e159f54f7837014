package io.tenure.client.internal.engine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The local queue: claims of one session that share a name take turns, because to the server asking twice is asking once.
 *
 * <p>One line of claims for each name. A claim stands in the lines of all its names from asking until its hold has ended; it may
 * ask the server when it is first in all of them. All enter their lines at once, so nobody waits in a circle.
 */
final class Turns {
    private final Map<String, Deque<ClaimEntry>> lines = new HashMap<>();

    /** Enters the lines. Answers whether the claim is first in all of them. */
    boolean join(ClaimEntry claim) {
        boolean isFirst = true;
        for (String name : claim.spec.names()) {
            Deque<ClaimEntry> line = lines.computeIfAbsent(name, none -> new ArrayDeque<>(1));
            isFirst &= line.isEmpty();
            line.addLast(claim);
        }
        return isFirst;
    }

    /** Whether a claim that is in its lines is first in all of them. */
    boolean isFirst(ClaimEntry claim) {
        return claim.spec.names().stream().allMatch(name -> lines.get(name).peekFirst() == claim);
    }

    /** The claim that is first in the line of one of these names, if any is. */
    @Nullable
    ClaimEntry firstInWay(List<String> names) {
        for (String name : names) {
            Deque<ClaimEntry> line = lines.get(name);
            if (line != null) {
                return line.peekFirst();
            }
        }
        return null;
    }

    /** Leaves the lines. Answers which claims are first in one of them now. */
    List<ClaimEntry> leave(ClaimEntry claim) {
        List<ClaimEntry> next = new ArrayList<>();
        for (String name : claim.spec.names()) {
            Deque<ClaimEntry> line = lines.get(name);
            line.remove(claim);
            ClaimEntry first = line.peekFirst();
            if (first == null) {
                lines.remove(name);
            } else if (!next.contains(first)) {
                next.add(first);
            }
        }
        return next;
    }

    boolean isEmpty() {
        return lines.isEmpty();
    }
}
