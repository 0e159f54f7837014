package io.tenure.client.transport;

import io.tenure.client.TenureException;
import io.tenure.client.v1.ErrorReason;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;

/**
 * Connects to a server: tries endpoints once, in order, the next one when one fails or takes long, without waiting for hung ones. The
 * first that opens a stream is used. For the connection's thread.
 */
final class Dial {
    /** How long loading the transport's classes may take, in addition: that is no sign of a hung server. */
    private static final Duration COLD_START = Duration.ofSeconds(3);
    /** The kinds of connections, with TLS or without, whose classes this process has loaded. */
    private static final Set<Boolean> CONNECTED = ConcurrentHashMap.newKeySet();

    private final Driver driver;
    private final Loop loop;
    private final Deque<Endpoint> order;
    private final long stagger;
    private final Map<Wire, Future<?>> tries = new LinkedHashMap<>();
    private Future<?> next;
    private TenureException problem = new TenureException.Unavailable("there are no endpoints");
    private boolean isOver;

    /** Begins after a pause. After so many nanoseconds ({@code stagger}), the next attempt is made in parallel. */
    Dial(Driver driver, Loop loop, List<Endpoint> order, long stagger, long pause) {
        this.driver = driver;
        this.loop = loop;
        this.order = new ArrayDeque<>(order);
        this.stagger = stagger;
        this.next = loop.later(pause, this::tryNext);
    }

    private void tryNext() {
        if (isOver) {
            return;
        }
        next.cancel(false);
        Endpoint endpoint = order.poll();
        if (endpoint == null) {
            if (tries.isEmpty()) {
                isOver = true;
                // With the error of the last endpoint, unless one refused the credentials.
                driver.unreachable(problem);
            }
            return;
        }
        Duration timeout = driver.connectTimeout();
        Duration limit = CONNECTED.contains(endpoint.isSecure()) ? timeout : timeout.plus(COLD_START);
        try {
            Wire wire = new Wire(endpoint, driver.connector().channel(endpoint, limit), driver);
            // First, because it may load classes for longer than the limit.
            wire.open();
            String late = "no answer within " + limit.toMillis() + " ms";
            tries.put(wire, loop.later(limit.toNanos(), () -> failed(wire, new TenureException.Unavailable(late))));
            next = loop.later(stagger, this::tryNext);
        } catch (IOException | RuntimeException error) {
            failed(endpoint, new TenureException.Unavailable(String.valueOf(error.getMessage())));
        }
    }

    /** A wire has opened its stream. Returns whether it is the one that is used: it is over then. */
    boolean opened(Wire wire) {
        Future<?> limit = tries.remove(wire);
        if (limit == null) {
            return false;
        }
        CONNECTED.add(wire.endpoint().isSecure());
        limit.cancel(false);
        stop();
        return true;
    }

    /** A wire has failed. */
    void failed(Wire wire, TenureException why) {
        Future<?> limit = tries.remove(wire);
        if (limit != null) {
            limit.cancel(false);
            wire.drop();
            failed(wire.endpoint(), why);
        }
    }

    private void failed(Endpoint endpoint, TenureException why) {
        // The user can fix refused credentials; the other servers may be unreachable only temporarily.
        if (!isUnauthenticated(problem)) {
            problem =
                    isUnauthenticated(why) ? why : new TenureException.Unavailable(endpoint + ": " + why.getMessage());
        }
        tryNext();
    }

    private static boolean isUnauthenticated(TenureException error) {
        return error instanceof TenureException.Refused refused
                && refused.reason() == ErrorReason.ERROR_REASON_UNAUTHENTICATED;
    }

    /** Stops trying. */
    void stop() {
        isOver = true;
        next.cancel(false);
        tries.forEach((wire, limit) -> {
            limit.cancel(false);
            wire.drop();
        });
        tries.clear();
    }
}
