package io.tenure.client.transport;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.Context;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.tenure.client.TenureException;
import io.tenure.client.protocol.Presence;
import io.tenure.client.protocol.Protocol;
import io.tenure.client.protocol.Status;
import io.tenure.client.v1.Refusal;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The connection to the service, as its handles see it: what they declare, and plain calls beside the stream. */
public final class Connection {
    /** Runs what belongs to programs, and what waits: never the connection's thread. */
    public static final ExecutorService CALLBACKS = Executors.newCachedThreadPool(Loop.daemons("tenure-callback"));
    /** The upper bound of waits: clocks cannot represent all durations. */
    private static final Duration LONGEST_WAIT = Duration.ofDays(3650);

    private final String namespace;
    private final Duration callTimeout;
    private final Loop loop = new Loop();
    private final Protocol protocol;
    /** Until when everything is to be withdrawn, if the client is being closed. */
    private volatile long closing = Clock.NEVER;

    private final CountDownLatch ended = new CountDownLatch(1);
    /** The connection to the server of the stream, or ... */
    private @Nullable Wire wire;
    /** ... why there is none: guarded by this. */
    private TenureException problem = new TenureException.Unavailable("not connected yet");

    Connection(String namespace, Duration callTimeout) {
        this.namespace = namespace;
        this.callTimeout = callTimeout;
        this.protocol = new Protocol(namespace, Ids.fresh());
    }

    Loop loop() {
        return loop;
    }

    Protocol protocol() {
        return protocol;
    }

    long closing() {
        return closing;
    }

    public String namespace() {
        return namespace;
    }

    /** Whether the client was closed. */
    public boolean isClosed() {
        return ended.getCount() == 0;
    }

    /** Whether nothing more is to be declared. */
    public boolean isClosing() {
        return closing != Clock.NEVER;
    }

    /** Does this with the protocol, on the connection's thread, in the order of calls. Returns false if the client was closed. */
    public boolean change(Consumer<Protocol> change) {
        return loop.execute(() -> change.accept(protocol));
    }

    /** Does this after so many nanoseconds, on the connection's thread; or never, if the client is closed then. */
    public Future<?> later(long nanos, Runnable task) {
        return loop.later(nanos, task);
    }

    /** The end of a call that begins now: how long it may take, in nanoseconds. */
    public long callNanos(Duration wait) {
        return nanos(wait) + callTimeout.toNanos();
    }

    /** A wait in nanoseconds. */
    public static long nanos(Duration wait) {
        return (wait.compareTo(LONGEST_WAIT) < 0 ? wait : LONGEST_WAIT).toNanos();
    }

    /**
     * Completed when this finds something, or fails: it is called now, and after each change. Then runs what depends on it as a
     * callback.
     */
    public static <T> CompletableFuture<T> when(Presence presence, Supplier<@Nullable T> look) {
        CompletableFuture<T> found = new CompletableFuture<>();
        Runnable listener = () -> {
            T value = look.get();
            if (value != null) {
                found.completeAsync(() -> value, CALLBACKS);
            }
        };
        presence.listen(listener);
        found.whenComplete((value, error) -> presence.forget(listener));
        return found;
    }

    /** Completed at the end of what was withdrawn. Fails if no server has confirmed that in time: it is then repeated further. */
    public CompletableFuture<Status.End> end(Presence presence) {
        return when(presence, () -> presence.status() instanceof Status.End end ? end : null)
                .orTimeout(callTimeout.toNanos(), TimeUnit.NANOSECONDS)
                .exceptionallyAsync(
                        late -> {
                            throw new CompletionException(unanswered());
                        },
                        CALLBACKS);
    }

    /** Closes all sessions and ends all watches; later requests fail. Returns whether servers have confirmed that in time. */
    public boolean shutDown() {
        change(all -> {
            closing = Math.min(closing, Clock.now() + callTimeout.toNanos());
            all.withdrawAll(Clock.now());
        });
        Uninterruptibles.awaitUninterruptibly(ended);
        return protocol.isEmpty();
    }

    /** The client is connected to another server. */
    synchronized void moved(Wire next) {
        leave();
        wire = next;
        notifyAll();
    }

    /** The client is not connected. */
    synchronized void unreachable(TenureException why) {
        leave();
        problem = why;
        notifyAll();
    }

    /** The client is closed. */
    synchronized void ended() {
        leave();
        ended.countDown();
        notifyAll();
    }

    private void leave() {
        Wire left = wire;
        wire = null;
        if (left != null) {
            left.context().cancel(null);
        }
    }

    /**
     * The connection to the server of the stream. Waits for one until the deadline (by {@link System#nanoTime}), unless the
     * credentials are refused.
     */
    public synchronized Wire wire(long deadline) throws InterruptedException {
        while (!isClosed() && wire == null && !(problem instanceof TenureException.Refused)) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                throw unanswered();
            }
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        if (isClosed()) {
            throw new TenureException.Closed();
        }
        if (wire == null) {
            throw unanswered();
        }
        return wire;
    }

    /** The error of a request without a reply. */
    public synchronized TenureException unanswered() {
        if (wire == null && problem instanceof TenureException.Refused refused) {
            Refusal refusal = refused.refusal();
            return new TenureException.Refused(refusal);
        }
        return new TenureException.Unavailable(wire == null ? problem.getMessage() : "the server did not answer");
    }

    /** Makes one idempotent call to the server of the stream. Repeats it at other servers until its deadline. */
    public <Q, A> A call(MethodDescriptor<Q, A> method, Message.Builder request) throws InterruptedException {
        return call(method, request, true, Duration.ZERO);
    }

    /**
     * As {@link #call(MethodDescriptor, Message.Builder)}, for a call that the server answers only after a wait, or that may not be
     * idempotent (not {@code isSafe}): then it is repeated only if it certainly had no effect.
     */
    public <Q, A> A call(MethodDescriptor<Q, A> method, Message.Builder request, boolean isSafe, Duration wait)
            throws InterruptedException {
        Q message = inNamespace(request);
        long deadline = System.nanoTime() + callNanos(wait);
        Backoff backoff = Backoff.ofCalls();
        while (true) {
            Wire current = wire(deadline);
            Context context = isSafe ? current.context() : Context.ROOT;
            Context previous = context.attach();
            TenureException error;
            try {
                long left = Math.max(deadline - System.nanoTime(), 1);
                CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(left, TimeUnit.NANOSECONDS);
                return ClientCalls.blockingUnaryCall(current.channel(), method, options, message);
            } catch (StatusRuntimeException failure) {
                error = Failures.of(failure);
            } finally {
                context.detach(previous);
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            if (isSafe && current.context().isCancelled()) {
                // The stream has left the server.
                continue;
            }
            boolean isRepeated = error.isTransient() && (isSafe || error instanceof TenureException.Refused);
            long pause = backoff.next();
            if (!isRepeated || System.nanoTime() + pause >= deadline) {
                throw error;
            }
            TimeUnit.NANOSECONDS.sleep(pause);
        }
    }

    /** All requests of the contract have a namespace. */
    @SuppressWarnings("unchecked")
    private <Q> Q inNamespace(Message.Builder request) {
        FieldDescriptor field = request.getDescriptorForType().findFieldByName("namespace");
        return (Q) request.setField(field, namespace).build();
    }
}
