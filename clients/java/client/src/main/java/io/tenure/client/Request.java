package io.tenure.client;

import java.time.Duration;

/**
 * What is requested in a session of its own, whose options these are, or in an existing session, on which they have no effect. Each
 * option returns a new request; nothing is requested before it is carried out, and each time anew.
 */
public abstract sealed class Request<R> permits LockRequest, GroupRequest, Election {
    final Target target;

    Request(Target target) {
        this.target = target;
    }

    abstract R with(Target changed);

    /** All options of the session that is opened for this request. */
    public R session(SessionOptions options) {
        return with(target.with(options));
    }

    /** Its TTL: see {@link SessionOptions}. */
    public R ttl(Duration ttl) {
        return session(target.options().ttl(ttl));
    }

    /** Its disconnect grace: see {@link SessionOptions}. */
    public R disconnectGrace(Duration grace) {
        return session(target.options().disconnectGrace(grace));
    }

    /** Its owner label: see {@link SessionOptions}. */
    public R owner(String owner) {
        return session(target.options().owner(owner));
    }

    /** Takes part only while the program makes this progress, even while it waits: see {@link SessionOptions}. */
    public R renewWhile(Progress progress) {
        return session(target.options().renewWhile(progress));
    }
}
