package io.tenure.client.internal.link;

import io.tenure.client.internal.engine.Trouble;
import io.tenure.client.v1.StreamResponse;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledFuture;
import org.jspecify.annotations.Nullable;

/**
 * Finding a server: tries endpoints once, in order, the next as soon as one fails or takes long. The first that opens a stream is
 * taken. Used by the connection's thread only.
 */
final class Dialler {
    /** What loading the transport's code may take, which is no sign of a server that hangs. */
    private static final Duration COLD_START = Duration.ofSeconds(3);
    /** The kinds of connections that this program has made, with TLS or without: the code of each is loaded by the first one. */
    private static final Set<Boolean> CONNECTED = ConcurrentHashMap.newKeySet();

    /** What comes of it. */
    interface Outcome {
        void dialled(Wire wire);

        /** No server has taken the stream. If one has refused the credentials, that is why: it can be mended, the rest may pass. */
        void failed(Trouble why);
    }

    private final Loop loop;
    private final Connector connector;
    private final Wire.Listener listener;
    private final Duration timeout;
    private final long stagger;
    private final Deque<Endpoint> order;
    private final Outcome outcome;
    private final Map<Wire, ScheduledFuture<?>> tries = new LinkedHashMap<>();
    private @Nullable ScheduledFuture<?> next;
    private Trouble trouble = Trouble.unreachable("there are no endpoints");
    private boolean isOver;

    /** The listener is told what happens on the wire that was taken, from when it was. */
    Dialler(
            Loop loop,
            Connector connector,
            Wire.Listener listener,
            List<Endpoint> order,
            Duration timeout,
            long stagger,
            Outcome outcome) {
        this.loop = loop;
        this.connector = connector;
        this.listener = listener;
        this.order = new ArrayDeque<>(order);
        this.timeout = timeout;
        this.stagger = stagger;
        this.outcome = outcome;
    }

    void start() {
        if (isOver) {
            return;
        }
        cancel(next);
        Endpoint endpoint = order.poll();
        if (endpoint == null) {
            if (tries.isEmpty()) {
                isOver = true;
                outcome.failed(trouble);
            }
            return;
        }
        Duration limit = CONNECTED.contains(endpoint.isSecure()) ? timeout : timeout.plus(COLD_START);
        try {
            Wire wire = Wire.open(endpoint, connector.channel(endpoint, limit), new Trying());
            Trouble late = Trouble.unreachable(endpoint + ": no answer within " + limit.toMillis() + " ms");
            tries.put(wire, loop.later(limit.toNanos(), () -> failed(wire, late)));
            next = loop.later(stagger, this::start);
        } catch (IOException error) {
            failed(Trouble.unreachable(endpoint + ": " + error.getMessage()));
        }
    }

    /** Stops trying. */
    void stop() {
        isOver = true;
        cancel(next);
        tries.values().forEach(Dialler::cancel);
        tries.keySet().forEach(Wire::drop);
        tries.clear();
    }

    private void opened(Wire wire) {
        ScheduledFuture<?> limitTimer = tries.remove(wire);
        if (limitTimer != null) {
            CONNECTED.add(wire.endpoint().isSecure());
            cancel(limitTimer);
            stop();
            outcome.dialled(wire);
        }
    }

    private void failed(Wire wire, Trouble why) {
        ScheduledFuture<?> limitTimer = tries.remove(wire);
        if (limitTimer == null) {
            return;
        }
        cancel(limitTimer);
        wire.drop();
        failed(why);
    }

    private void failed(Trouble why) {
        if (trouble.refusal() == null) {
            trouble = why;
        }
        start();
    }

    private static void cancel(@Nullable ScheduledFuture<?> timer) {
        if (timer != null) {
            timer.cancel(false);
        }
    }

    /** Listens to a wire until it is known what comes of it, and passes on what it says then. */
    private final class Trying implements Wire.Listener {
        @Override
        public void opened(Wire wire) {
            loop.execute(() -> Dialler.this.opened(wire));
        }

        @Override
        public void received(Wire wire, StreamResponse response) {
            listener.received(wire, response);
        }

        @Override
        public void ready(Wire wire) {
            listener.ready(wire);
        }

        @Override
        public void closed(Wire wire, Trouble why) {
            loop.execute(() -> failed(wire, why));
            listener.closed(wire, why);
        }
    }
}
