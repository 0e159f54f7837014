package io.tenure.spring.boot;

import io.tenure.client.Hold;
import org.jspecify.annotations.Nullable;

/** The hold under which a method with {@link DistributedLock} or {@link LeaderOnly} runs, such as for its fencing token. */
public final class CurrentHold {
    private static final ThreadLocal<@Nullable CurrentHold> INNERMOST = new ThreadLocal<>();

    private final Hold hold;
    private final @Nullable CurrentHold outer;

    private CurrentHold(Hold hold, @Nullable CurrentHold outer) {
        this.hold = hold;
        this.outer = outer;
    }

    /**
     * That of the innermost such method of this thread.
     *
     * @throws IllegalStateException if there is none
     */
    public static Hold get() {
        CurrentHold current = INNERMOST.get();
        if (current == null) {
            throw new IllegalStateException("no method with @DistributedLock or @LeaderOnly runs on this thread");
        }
        return current.hold;
    }

    static boolean isOf(String name) {
        for (CurrentHold current = INNERMOST.get(); current != null; current = current.outer) {
            if (current.hold.names().contains(name)) {
                return true;
            }
        }
        return false;
    }

    static void enter(Hold hold) {
        INNERMOST.set(new CurrentHold(hold, INNERMOST.get()));
    }

    static void leave() {
        CurrentHold current = INNERMOST.get();
        if (current == null || current.outer == null) {
            INNERMOST.remove();
        } else {
            INNERMOST.set(current.outer);
        }
    }
}
