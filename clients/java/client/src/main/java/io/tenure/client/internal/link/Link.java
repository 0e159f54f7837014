package io.tenure.client.internal.link;

import io.tenure.client.Security;
import io.tenure.client.TenureException;
import io.tenure.client.internal.Backoff;
import io.tenure.client.internal.Clock;
import io.tenure.client.internal.engine.Engine;
import io.tenure.client.internal.engine.Trouble;
import io.tenure.client.v1.StreamResponse;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The connection to the service: owns the stream, carries between it and the engine, and goes to the next server when it fails. All
 * of it happens on one thread; {@link #ask} is the way in.
 */
public final class Link {
    private static final Logger LOG = System.getLogger(Link.class.getName());
    /** Pauses between rounds of connecting in vain: from this ... */
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    /** ... to this. */
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);
    /** A connection that lasted shorter than this is not followed by another without a pause. */
    private static final long SHORT_LIVED = 500_000_000L;
    /** How long a stream that is left is kept while the sessions come over to the new one. */
    private static final long OVERLAP = 5_000_000_000L;
    /** The most commands in one message: the contract's bound. */
    private static final int COMMANDS_PER_MESSAGE = 1000;
    /** The timers of the platform stop in suspend: after so long the clock is looked at whatever they say. */
    private static final long LONGEST_NAP = 1_000_000_000L;
    /** The next endpoint is tried beside one that has not answered for this part of the connect time-out ... */
    private static final long STAGGER_DIVISOR = 4;
    /** ... or of the shortest time for which a renewal is good ... */
    private static final long STAGGER_WINDOW_DIVISOR = 12;
    /** ... but not later than this ... */
    private static final long LONGEST_STAGGER = 100_000_000L;
    /** ... and not faster. */
    private static final long SHORTEST_STAGGER = 10_000_000L;

    private final List<Endpoint> servers;
    private final Connector connector;
    private final Duration connectTimeout;
    private final Duration callTimeout;
    private final Clock clock;
    private final Engine engine;
    private final Loop loop = new Loop();
    private final PlainCalls calls;
    private final Backoff backoff = new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
    private final AtomicLong keys = new AtomicLong();
    private final ExecutorService callbacks = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "tenure-callback");
        thread.setDaemon(true);
        return thread;
    });

    private @Nullable Wire wire;
    /** The stream that was left, until the sessions have come over or this moment has passed. */
    private @Nullable Wire parked;

    private long parkedUntil;
    private @Nullable Dialler dialler;
    private boolean isDialling;
    private int nextEndpoint;
    private long connectedAt;
    private boolean wasConnected;
    private boolean isTurnPending;
    private @Nullable ScheduledFuture<?> nap;
    private volatile boolean isClosed;

    public Link(
            List<Endpoint> servers,
            Security security,
            String namespace,
            Duration connectTimeout,
            Duration callTimeout,
            Clock clock) {
        this.servers = List.copyOf(servers);
        this.connector = new Connector(security);
        this.connectTimeout = connectTimeout;
        this.callTimeout = callTimeout;
        this.clock = clock;
        this.engine = new Engine(namespace, UUID.randomUUID().toString(), clock);
        this.calls = new PlainCalls(loop, clock);
        this.nextEndpoint = ThreadLocalRandom.current().nextInt(servers.size());
        loop.execute(this::startDialling);
    }

    public Clock clock() {
        return clock;
    }

    public Duration callTimeout() {
        return callTimeout;
    }

    /** The moment at which a call that begins now is given up. */
    public long giveUp() {
        return Clock.after(clock.now(), callTimeout.toNanos());
    }

    /** A number for one claim of this client. */
    public long nextKey() {
        return keys.incrementAndGet();
    }

    /** Whether nothing can be asked any more. */
    public boolean isClosed() {
        return isClosed;
    }

    /** Where the program's own code is called, which may take its time. */
    public ExecutorService callbacks() {
        return callbacks;
    }

    /** Asks the engine something. After the end, nothing happens. */
    public void ask(ObjLongConsumer<Engine> question) {
        tryAsk(question);
    }

    /** Asks the engine something whose answer somebody waits for. */
    public <T> CompletableFuture<T> ask(CompletableFuture<T> reply, ObjLongConsumer<Engine> question) {
        if (!tryAsk(question)) {
            reply.completeExceptionally(new TenureException.Closed());
        }
        return reply;
    }

    private boolean tryAsk(ObjLongConsumer<Engine> question) {
        return loop.execute(() -> {
            question.accept(engine, clock.now());
            turn();
        });
    }

    /** Asks with a call of its own beside the stream. */
    public <Q, A> CompletableFuture<A> call(PlainCall<Q, A> call) {
        if (!loop.execute(() -> calls.start(call))) {
            call.answer().completeExceptionally(new TenureException.Closed());
        }
        return call.answer();
    }

    /** Closes all sessions and ends all watches; nothing can be asked afterwards. */
    public CompletableFuture<Void> shutDown() {
        CompletableFuture<Void> reply = new CompletableFuture<>();
        if (!tryAsk((asked, now) -> asked.shutDown(giveUp(), reply, now))) {
            reply.complete(null);
        }
        return reply;
    }

    /** Does what follows from what was taken in, once all that came together has been. */
    private void turn() {
        if (!isTurnPending) {
            isTurnPending = true;
            loop.execute(this::takeTurn);
        }
    }

    private void takeTurn() {
        isTurnPending = false;
        if (isClosed) {
            return;
        }
        long now = clock.now();
        engine.due(now);
        switch (engine.takeVerdict()) {
            case BROKEN -> hangUp("the server did not answer");
            case LEAVE -> startDialling();
            case GOOD -> {}
        }
        if (parked != null && (parkedUntil <= now || engine.isSettled())) {
            parked.drop();
            parked = null;
        }
        while (wire != null && engine.hasOutgoing() && wire.isReady()) {
            wire.send(engine.takeOutgoing(COMMANDS_PER_MESSAGE));
        }
        if (engine.isShutDown()) {
            end();
        } else {
            napUntil(engine.nextDeadline(), now);
        }
    }

    private void napUntil(long deadline, long now) {
        if (nap != null) {
            nap.cancel(false);
        }
        nap = loop.later(Math.min(Clock.since(deadline, now), LONGEST_NAP), this::turn);
    }

    private void end() {
        isClosed = true;
        if (dialler != null) {
            dialler.stop();
        }
        if (parked != null) {
            parked.drop();
        }
        if (wire != null) {
            wire.drop();
            // What it says from now on is not listened to.
            wire = null;
        }
        calls.end();
        loop.stop();
        callbacks.shutdown();
        engine.tellShutDown();
    }

    private void startDialling() {
        if (isDialling) {
            return;
        }
        long pause = 0;
        if (wasConnected && Clock.since(clock.now(), connectedAt) >= SHORT_LIVED) {
            backoff.reset();
        } else if (wasConnected) {
            pause = backoff.next();
        }
        dialAfter(pause);
    }

    private void dialAfter(long pause) {
        isDialling = true;
        long windowPart = engine.shortestWindow() / STAGGER_WINDOW_DIVISOR;
        long stagger = Math.min(Math.min(connectTimeout.toNanos() / STAGGER_DIVISOR, LONGEST_STAGGER), windowPart);
        Dialler next = new Dialler(
                loop,
                connector,
                new FromServer(),
                order(),
                connectTimeout,
                Math.max(stagger, SHORTEST_STAGGER),
                new Dialler.Outcome() {
                    @Override
                    public void dialled(Wire dialled) {
                        connected(dialled);
                    }

                    @Override
                    public void failed(Trouble why) {
                        dialFailed(why);
                    }
                });
        dialler = next;
        loop.later(Math.min(pause, Math.max(windowPart, 0)), next::start);
    }

    /** The endpoints in the order in which to try them. */
    private List<Endpoint> order() {
        int count = servers.size();
        // The one that the stream is connected to comes last; while that is only to be left, others do or nobody does.
        int others = wire != null && count > 1 ? count - 1 : count;
        List<Endpoint> order = new ArrayList<>();
        for (int step = 0; step < others; step++) {
            order.add(servers.get((nextEndpoint + step) % count));
        }
        return order;
    }

    private void connected(Wire dialled) {
        isDialling = false;
        long now = clock.now();
        LOG.log(Level.DEBUG, "connected to {0}", dialled.endpoint());
        if (parked != null) {
            parked.drop();
        }
        parked = wire;
        parkedUntil = now + OVERLAP;
        nextEndpoint = (servers.indexOf(dialled.endpoint()) + 1) % servers.size();
        connectedAt = now;
        wasConnected = true;
        wire = dialled;
        engine.connected(now);
        calls.up(dialled.channel());
        turn();
    }

    private void dialFailed(Trouble why) {
        isDialling = false;
        LOG.log(Level.DEBUG, "no server can be reached: {0}", why.problem());
        if (wire == null) {
            engine.trouble(why, clock.now());
            calls.down(why);
            turn();
        }
        dialAfter(backoff.next());
    }

    private void hangUp(String problem) {
        LOG.log(Level.DEBUG, "the stream broke: {0}", problem);
        if (wire != null) {
            wire.drop();
            wire = null;
        }
        engine.disconnected(problem);
        calls.down(Trouble.unreachable(problem));
        startDialling();
    }

    /** What the server that the stream is connected to says. */
    private final class FromServer implements Wire.Listener {
        @Override
        public void opened(Wire from) {
            // The dialler has told.
        }

        @Override
        public void received(Wire from, StreamResponse response) {
            loop.execute(() -> {
                if (from == wire) {
                    engine.received(response, clock.now());
                    turn();
                }
                from.taken();
            });
        }

        @Override
        public void ready(Wire from) {
            loop.execute(Link.this::turn);
        }

        @Override
        public void closed(Wire from, Trouble why) {
            loop.execute(() -> {
                if (from == wire) {
                    hangUp(why.problem());
                    turn();
                }
            });
        }
    }
}
