package io.tenure.shedlock;

import io.tenure.client.Attempt;
import io.tenure.client.SessionOptions;
import io.tenure.client.TenureClient;
import io.tenure.client.TenureException;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;

/**
 * Locks of ShedLock that are kept by Tenure.
 *
 * <ul>
 *   <li><em>lock at most for</em>: the program gives the lock back when that has passed, whatever the task does. If the program dies
 *       before, the lock is free after the TTL of its session (10 s unless the options say otherwise), and not only then. So the
 *       task is not protected for longer than the TTL from when its program was heard of last: have it write with a fencing token
 *       where that matters.
 *   <li><em>lock at least for</em>: kept by the server, also if the program dies. What an extension adds to it is kept by the program.
 * </ul>
 *
 * <p>If no server can be reached, {@link LockException} is thrown, and the task does not run.
 */
public final class TenureLockProvider implements ExtensibleLockProvider {
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

    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        try {
            Attempt attempt = client.lock(configuration.getName())
                    .session(options)
                    .minHold(configuration.getLockAtLeastFor())
                    .tryAcquire();
            return attempt.guard().map(guard -> TenureSimpleLock.granted(configuration, guard, timers));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new LockException("interrupted while asking for " + configuration.getName(), interrupted);
        } catch (TenureException error) {
            throw new LockException("could not ask for " + configuration.getName(), error);
        }
    }
}
