package io.tenure.client;

import com.google.common.collect.AbstractIterator;
import io.grpc.CallOptions;
import io.grpc.Context;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.tenure.client.transport.Backoff;
import io.tenure.client.transport.Connection;
import io.tenure.client.transport.Failures;
import io.tenure.client.transport.Wire;
import io.tenure.client.v1.Group;
import io.tenure.client.v1.Lock;
import io.tenure.client.v1.Snapshot;
import io.tenure.client.v1.WatchRequest;
import io.tenure.client.v1.WatchResponse;
import io.tenure.client.v1.WatchServiceGrpc;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What happens, as it happens: each revision once and in order, across reconnects. It ends when it or the client is closed, and after an
 * error that a retry cannot fix. The parts of a snapshot are joined to one. A slow reader misses nothing: the server waits for it.
 *
 * <p>For one reader, on whose thread it is received; any thread may close it.
 */
public final class Watch<T> implements Iterable<T>, AutoCloseable {
    private final Connection connection;
    private final Function<WatchResponse, Optional<T>> read;
    private final Backoff backoff = Backoff.ofCalls();
    private WatchRequest request;
    private @Nullable Iterator<WatchResponse> responses;
    /** The parts of a snapshot received so far; of a lock that changed meanwhile, the last state. */
    private final TreeMap<String, Lock> locks = new TreeMap<>();

    private final List<Group> groups = new ArrayList<>();
    /** The present call: guarded by this. */
    private Context.@Nullable CancellableContext call;

    private volatile boolean isClosed;

    /** The items that this reads from the responses to a request. */
    Watch(Connection connection, WatchRequest request, Function<WatchResponse, Optional<T>> read) {
        this.connection = connection;
        this.request = request.toBuilder().setNamespace(connection.namespace()).build();
        this.read = read;
    }

    /**
     * Waits for the next item.
     *
     * @throws TenureException.Closed after the end of the watch
     * @throws TenureException.Refused the error with which the watch ends, once
     */
    public T next() throws InterruptedException {
        while (true) {
            Optional<T> item = Optional.empty();
            try {
                item = receive().flatMap(read);
                backoff.reset();
            } catch (StatusRuntimeException | TenureException error) {
                endCall();
                TenureException known = error instanceof TenureException is ? is : Failures.of(error);
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                if (isClosed || !known.isTransient()) {
                    boolean isAgain = isClosed;
                    isClosed = true;
                    throw isAgain ? new TenureException.Closed() : known;
                }
                TimeUnit.NANOSECONDS.sleep(backoff.next());
            }
            if (item.isPresent()) {
                return item.get();
            }
        }
    }

    /** The next complete response; empty for a part of a snapshot. */
    private Optional<WatchResponse> receive() throws InterruptedException {
        Iterator<WatchResponse> present = responses == null ? begin() : responses;
        responses = present;
        if (!present.hasNext()) {
            throw new TenureException.Unavailable("the server ended the watch");
        }
        WatchResponse response = present.next();
        long after = response.getRevision();
        if (response.hasSnapshot()) {
            response.getSnapshot().getLocksList().forEach(lock -> locks.put(lock.getName(), lock));
            groups.addAll(response.getSnapshot().getGroupsList());
            if (response.getSnapshot().getMore()) {
                return Optional.empty();
            }
            Snapshot.Builder all =
                    Snapshot.newBuilder().addAllLocks(locks.values()).addAllGroups(groups);
            response = response.toBuilder().setSnapshot(all).build();
            clearParts();
        } else if (response.hasHistoryGone()) {
            clearParts();
            after = 0;
        }
        request = request.toBuilder().setAfterRevision(after).build();
        return Optional.of(response);
    }

    private Iterator<WatchResponse> begin() throws InterruptedException {
        clearParts();
        Wire wire = connection.wire(System.nanoTime() + connection.callNanos(Duration.ZERO));
        Context.CancellableContext context = wire.context().withCancellation();
        synchronized (this) {
            call = context;
            if (isClosed) {
                throw new TenureException.Closed();
            }
        }
        Context previous = context.attach();
        try {
            return ClientCalls.blockingServerStreamingCall(
                    wire.channel(), WatchServiceGrpc.getWatchMethod(), CallOptions.DEFAULT, request);
        } finally {
            context.detach(previous);
        }
    }

    private void clearParts() {
        locks.clear();
        groups.clear();
    }

    private synchronized void endCall() {
        responses = null;
        if (call != null) {
            call.cancel(null);
            call = null;
        }
    }

    /** The items, as {@link #next} returns them, until the end. An interrupt ends the wait with {@code Unavailable}. */
    @Override
    public Iterator<T> iterator() {
        return new AbstractIterator<>() {
            @Override
            protected @Nullable T computeNext() {
                try {
                    return Watch.this.next();
                } catch (InterruptedException interrupted) {
                    Thread.currentThread().interrupt();
                    throw new TenureException.Unavailable("interrupted");
                } catch (TenureException.Closed end) {
                    return endOfData();
                }
            }
        };
    }

    /** Ends it. */
    @Override
    public void close() {
        synchronized (this) {
            isClosed = true;
            if (call != null) {
                call.cancel(null);
            }
        }
    }
}
