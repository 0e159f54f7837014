package io.tenure.client.transport;

import io.tenure.client.TenureException;
import io.tenure.client.protocol.Protocol;
import io.tenure.client.v1.ConnectRequest;
import io.tenure.client.v1.ConnectResponse;
import io.tenure.client.v1.ErrorReason;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Owns the stream: passes messages between it and the protocol, and connects to the next server when it fails. For the connection's
 * thread.
 */
public final class Driver {
    private static final Logger LOG = System.getLogger(Driver.class.getName());

    /** Pauses between failed rounds of connection attempts: from this ... */
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    /** ... to this. */
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);
    /** After a stream that was shorter than this, or was not confirmed at all, there is a pause before the next one. */
    private static final long SHORT_LIVED = 500_000_000;
    /** Timers stop during suspend, so the clock is read at least this often. */
    private static final long LONGEST_SLEEP = 1_000_000_000;
    /** The next endpoint is tried in parallel after this part of the timeout for connecting ... */
    private static final int STAGGER_DIVISOR = 4;
    /** ... or of the shortest time for which a session is valid ... */
    private static final int STAGGER_OF_VALIDITY_DIVISOR = 12;
    /** ... but not earlier than this. */
    private static final long SHORTEST_STAGGER = 10_000_000;

    private final Connection connection;
    private final Loop loop;
    private final Protocol protocol;
    private final Connector connector;
    private final List<Endpoint> servers;
    private final Duration connectTimeout;
    private final Backoff backoff = new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
    private int nextEndpoint;
    private @Nullable Wire stream;
    private long epoch;
    /** When the server of the current stream confirmed its Hello. */
    private @Nullable Long welcomedAt;
    /** The last welcomed stream before, until the server of the current one has taken over: its end would be a disconnect. */
    private @Nullable Wire before;

    private @Nullable Dial dial;
    private Future<?> timer = CompletableFuture.completedFuture(null);

    private Driver(Connection connection, List<Endpoint> servers, Security security, Duration connectTimeout) {
        this.connection = connection;
        this.loop = connection.loop();
        this.protocol = connection.protocol();
        this.connector = new Connector(security);
        this.servers = servers;
        this.connectTimeout = connectTimeout;
        this.nextEndpoint = ThreadLocalRandom.current().nextInt(servers.size());
    }

    /** A new connection, which begins to connect. */
    public static Connection start(
            List<Endpoint> servers,
            Security security,
            String namespace,
            Duration connectTimeout,
            Duration callTimeout) {
        Connection connection = new Connection(namespace, callTimeout);
        Driver driver = new Driver(connection, servers, security, connectTimeout);
        connection.loop().setTurn(driver::turn);
        connection.loop().execute(() -> driver.dialAfter(0));
        return connection;
    }

    Connector connector() {
        return connector;
    }

    /** How long each attempt to connect may take. */
    Duration connectTimeout() {
        return connectTimeout;
    }

    /** After each change, message and timer. */
    private void turn() {
        long now = Clock.now();
        protocol.handleTimeout(now);
        long closing = connection.closing();
        if (closing <= now || (closing != Clock.NEVER && protocol.isEmpty())) {
            close();
            return;
        }
        if (protocol.isLeaving()) {
            startDialling(now);
        }
        while (stream != null && stream.isReady()) {
            ConnectRequest request = protocol.pollTransmit();
            if (request == null) {
                break;
            }
            stream.send(request);
        }
        long nap = Math.min(Math.min(protocol.pollTimeout(), closing) - now, LONGEST_SLEEP);
        timer.cancel(false);
        timer = loop.later(Math.max(nap, 0), () -> {});
    }

    private void close() {
        if (dial != null) {
            dial.stop();
            dial = null;
        }
        drop(before);
        Wire last = stream;
        stream = null;
        drop(last);
        loop.stop();
        connection.ended();
    }

    void opened(Wire wire) {
        loop.execute(() -> {
            if (dial != null && dial.opened(wire)) {
                dialled(wire);
            }
        });
    }

    void received(Wire wire, ConnectResponse response) {
        loop.execute(() -> {
            if (wire == stream) {
                drop(before);
                before = null;
                long now = Clock.now();
                // The first message is the Welcome.
                welcomedAt = welcomedAt == null ? Long.valueOf(now) : welcomedAt;
                protocol.handleResponse(epoch, response, now);
            }
            wire.processed();
        });
    }

    void ready() {
        loop.execute(() -> {});
    }

    void closed(Wire wire, TenureException why) {
        loop.execute(() -> {
            if (wire == stream) {
                boolean isSuperseded = why instanceof TenureException.Refused refused
                        && refused.reason() == ErrorReason.ERROR_REASON_CLIENT_SUPERSEDED;
                if (isSuperseded) {
                    protocol.handleSuperseded(epoch, Ids.fresh(), Clock.now());
                }
                disconnected(wire, why);
            } else if (dial != null) {
                dial.failed(wire, why);
            }
        });
    }

    private void startDialling(long now) {
        if (dial != null) {
            return;
        }
        boolean isFailing = welcomedAt == null || now - welcomedAt < SHORT_LIVED;
        if (!isFailing) {
            backoff.reset();
        }
        dialAfter(isFailing ? backoff.next() : 0);
    }

    private void dialAfter(long pause) {
        // The endpoint of the current stream comes last; while that stream is still open, it is not tried, unless there
        // is no other.
        int count = servers.size();
        int others = stream != null && count > 1 ? count - 1 : count;
        List<Endpoint> order = IntStream.range(0, others)
                .mapToObj(step -> servers.get((nextEndpoint + step) % count))
                .toList();
        long stagger = Math.min(
                connectTimeout.toNanos() / STAGGER_DIVISOR, protocol.shortestValidity() / STAGGER_OF_VALIDITY_DIVISOR);
        stagger = Math.max(stagger, SHORTEST_STAGGER);
        dial = new Dial(this, loop, order, stagger, Math.min(pause, stagger));
    }

    private void dialled(Wire wire) {
        LOG.log(Level.INFO, "connected to {0}", wire.endpoint());
        dial = null;
        nextEndpoint = (servers.indexOf(wire.endpoint()) + 1) % servers.size();
        if (welcomedAt == null) {
            drop(stream);
        } else {
            before = stream;
        }
        welcomedAt = null;
        epoch = protocol.handleConnected(Clock.now());
        stream = wire;
        connection.moved(wire);
    }

    void unreachable(TenureException why) {
        LOG.log(Level.WARNING, "no server can be reached: {0}", why.getMessage());
        if (stream == null) {
            connection.unreachable(why);
            if (why instanceof TenureException.Refused refused) {
                protocol.handleRejected(refused.refusal(), Clock.now());
            }
        }
        dialAfter(backoff.next());
    }

    private void disconnected(Wire wire, TenureException why) {
        LOG.log(Level.WARNING, "the stream to {0} ended: {1}", wire.endpoint(), why.getMessage());
        protocol.handleDisconnected(epoch);
        stream = null;
        // Not the refusal itself: that another server accepts the stream is still to be expected.
        connection.unreachable(new TenureException.Unavailable(why.getMessage()));
        wire.drop();
        startDialling(Clock.now());
    }

    private static void drop(@Nullable Wire wire) {
        if (wire != null) {
            wire.drop();
        }
    }
}
