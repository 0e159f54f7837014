package io.tenure.client;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What came of a try. */
public sealed interface Attempt {
    /** The guard, if the locks are held. */
    Optional<Guard> guard();

    /** Whether the locks are held. */
    default boolean isAcquired() {
        return guard().isPresent();
    }

    /**
     * The locks are held.
     *
     * @param held keeps them
     */
    record Acquired(Guard held) implements Attempt {
        @Override
        public Optional<Guard> guard() {
            return Optional.of(held);
        }
    }

    /**
     * Somebody else has the locks.
     *
     * @param holder who holds, lingers on, or waits ahead for the first of the names that was not free, if that is known
     */
    record Busy(@Nullable Claim holder) implements Attempt {
        @Override
        public Optional<Guard> guard() {
            return Optional.empty();
        }
    }
}
