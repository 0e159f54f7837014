package io.tenure.spring.integration;

import io.tenure.client.LockView;
import io.tenure.client.SessionOptions;
import io.tenure.client.TenureClient;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import org.springframework.integration.support.locks.LockRegistry;

/**
 * Locks of Spring Integration, held by Tenure, for {@code LockRegistryLeaderInitiator} and all other users of a registry. The lock's
 * name is the key's text, after a prefix.
 *
 * <p>Locks are owned by threads and may be entered again. The loss of a lock is reported when it is entered again: it is not
 * acquired that once, after which it can be acquired anew. So a leader initiator revokes the leadership at its next heartbeat. That
 * may be later than others could lead: choose the heartbeat shorter than a third of the TTL.
 */
public final class TenureLockRegistry implements LockRegistry {
    private final TenureClient client;
    private final String prefix;
    private final SessionOptions options;
    /** The same lock for the same key, as long as the registry lives: threads own it through that object. */
    private final Map<String, Lock> locks = new ConcurrentHashMap<>();

    /** Locks without a prefix, with sessions of the default options. The client is not closed by this. */
    public TenureLockRegistry(TenureClient client) {
        this(client, "", SessionOptions.defaults());
    }

    /** Locks whose names begin with this, with sessions of these options: one for each lock that is held. Without an id. */
    public TenureLockRegistry(TenureClient client, String prefix, SessionOptions options) {
        this.client = client;
        this.prefix = prefix;
        this.options = options;
    }

    @Override
    public Lock obtain(Object lockKey) {
        return locks.computeIfAbsent(prefix + lockKey, this::lock);
    }

    private Lock lock(String name) {
        LockView view = client.lock(name).session(options).asLock();
        return new RegistryLock(view);
    }
}
