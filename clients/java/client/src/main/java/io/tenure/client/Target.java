package io.tenure.client;

import io.tenure.client.protocol.Presence;
import io.tenure.client.protocol.Protocol;
import io.tenure.client.transport.Clock;
import io.tenure.client.transport.Connection;
import io.tenure.client.transport.Ids;
import io.tenure.client.v1.Declaration;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Where claims and memberships are made.
 *
 * @param session null: each in a session of its own, with these options
 */
record Target(Connection connection, @Nullable Session session, SessionOptions options) {
    Target(Connection connection, @Nullable Session session) {
        this(connection, session, SessionOptions.defaults());
    }

    Target with(SessionOptions changed) {
        return new Target(connection, session, changed);
    }

    /** Declares a session, a claim or a membership. On the connection's thread. */
    Part declare(Protocol protocol, Declaration declaration, @Nullable Progress progress) {
        BiPredicate<Long, Long> partStalls = stalls(progress);
        if (session != null) {
            LostReason lost = session.lostReason();
            if (lost != null) {
                throw new TenureException.Lost(lost);
            }
            Presence declared = protocol.declare(session.presence(), declaration, null, partStalls, Clock.now());
            return new Part(declared, session, false);
        }
        if (connection.isClosing()) {
            throw new TenureException.Closed();
        }
        SessionOptions named = options.id() == null ? options.id(Ids.fresh()) : options;
        Declaration all = declaration.toBuilder().setOpen(named.declared()).build();
        Presence declared = protocol.declare(null, all, stalls(named.renewWhile()), partStalls, Clock.now());
        return new Part(declared, new Session(connection, declared.session(), named), true);
    }

    private static @Nullable BiPredicate<Long, Long> stalls(@Nullable Progress progress) {
        return progress == null ? null : progress::isStalled;
    }
}
