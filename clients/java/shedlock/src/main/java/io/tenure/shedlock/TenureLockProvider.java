package io.tenure.shedlock;

import io.tenure.client.SessionOptions;
import io.tenure.client.TenureClient;
import io.tenure.client.TenureException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;

/**
 * Locks of ShedLock, held by Tenure.
 *
 * <ul>
 *   <li><em>lock at most for</em>: the program releases the lock when that has passed, whatever the task does. If the program dies
 *       before, the lock is free after the TTL of its session (10 s unless the options set another one), not only then. So a task is
 *       not protected for longer than the TTL after its program was last connected: write with a fencing token where that matters.
 *   <li><em>lock at least for</em>: kept by the server, also if the program dies; at most 24 h. What an extension adds to it is kept by
 *       the program.
 *   <li>names: at most 255 bytes.
 * </ul>
 *
 * <p>If no server can be reached, {@link LockException} is thrown, and the task does not run.
 */
public final class TenureLockProvider implements ExtensibleLockProvider {
    private static final Duration LONGEST_MIN_HOLD = Duration.ofHours(24);
    private static final int LONGEST_NAME = 255;

    private final TenureClient client;
    private final SessionOptions options;
    private final ScheduledExecutorService timers = Executors.newSingleThreadScheduledExecutor(work -> {
        Thread thread = new Thread(work, "tenure-shedlock");
        thread.setDaemon(true);
        return thread;
    });

    /** Locks with sessions of the default options. The client is not closed by this. */
    public TenureLockProvider(TenureClient client) {
        this(client, SessionOptions.defaults());
    }

    /** Locks with sessions of these options: one for each lock that is held. Without an id. */
    public TenureLockProvider(TenureClient client, SessionOptions options) {
        this.client = client;
        this.options = options;
    }

    /** @throws IllegalArgumentException if the configuration is out of the bounds */
    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        check(configuration);
        try {
            return client.lock(configuration.getName())
                    .session(options)
                    .minHold(configuration.getLockAtLeastFor())
                    .tryAcquire()
                    .acquired()
                    .map(guard -> TenureSimpleLock.granted(configuration, guard, timers));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new LockException("interrupted while requesting " + configuration.getName(), interrupted);
        } catch (TenureException error) {
            throw new LockException("could not request " + configuration.getName(), error);
        }
    }

    /** Here, because the rejection of a server names the bounds of Tenure, not the settings of ShedLock. */
    private static void check(LockConfiguration configuration) {
        String name = configuration.getName();
        if (name.getBytes(StandardCharsets.UTF_8).length > LONGEST_NAME) {
            throw new IllegalArgumentException("the name of a lock has at most " + LONGEST_NAME + " bytes: " + name);
        }
        if (configuration.getLockAtLeastFor().compareTo(LONGEST_MIN_HOLD) > 0) {
            throw new IllegalArgumentException("lockAtLeastFor of " + name + " is at most " + LONGEST_MIN_HOLD.toHours()
                    + " h, not " + configuration.getLockAtLeastFor());
        }
    }
}
