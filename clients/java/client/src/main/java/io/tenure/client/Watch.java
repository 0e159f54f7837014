package io.tenure.client;

import io.tenure.client.internal.engine.WatchSink;
import io.tenure.client.internal.link.Link;
import io.tenure.client.v1.WatchRequest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What happens, as it happens: each revision once and in order, across reconnects. It ends when it or the client is closed, and with
 * an error that trying again cannot cure. A reader that is slow loses nothing: the server is asked again from where the reader is.
 *
 * <p>For one reader.
 */
public final class Watch implements AutoCloseable, Iterable<WatchEvent> {
    /** How many items may wait for the reader before the watch is stopped and resumed later. */
    private static final int ITEMS_IN_QUEUE = 64;

    private final Link link;
    private final Queue queue = new Queue();

    private Watch(Link link) {
        this.link = link;
    }

    static Watch start(Link link, WatchOptions options) {
        Watch watch = new Watch(link);
        WatchRequest request = request(options);
        link.ask((engine, now) -> engine.startWatch(watch.queue, request, now));
        // Only now: a client that is closed meanwhile does not take in what it is asked.
        if (link.isClosed()) {
            watch.queue.end(null);
        }
        return watch;
    }

    static WatchRequest request(WatchOptions options) {
        return WatchRequest.newBuilder()
                .addAllNames(options.names())
                .addAllPrefixes(options.prefixes())
                .addAllGroups(options.groups())
                .setAfterRevision(options.afterRevision())
                .build();
    }

    /**
     * Waits for the next item. Empty after the watch has ended.
     *
     * @throws TenureException.Refused what the watch ended with, once
     */
    public Optional<WatchEvent> next() throws InterruptedException {
        return next(Long.MAX_VALUE);
    }

    /** As {@link #next()}, but at most this long. Empty if nothing has come. */
    public Optional<WatchEvent> next(Duration wait) throws InterruptedException {
        return next(wait.toNanos());
    }

    private Optional<WatchEvent> next(long nanos) throws InterruptedException {
        boolean[] isDrained = new boolean[1];
        Optional<WatchEvent> item = queue.take(nanos, isDrained);
        if (isDrained[0]) {
            link.ask((engine, now) -> engine.resumeWatch(queue, now));
        }
        return item;
    }

    /** Whether nothing will come any more. */
    public boolean isEnded() {
        return queue.isEnded();
    }

    /** The items, as {@link #next} tells them. An interrupt ends the waiting with {@link TenureException.Unavailable}. */
    @Override
    public Iterator<WatchEvent> iterator() {
        return new Iterator<>() {
            private @Nullable WatchEvent item;

            @Override
            public boolean hasNext() {
                try {
                    item = item == null ? Watch.this.next().orElse(null) : item;
                } catch (InterruptedException interrupted) {
                    Thread.currentThread().interrupt();
                    throw new TenureException.Unavailable("interrupted");
                }
                return item != null;
            }

            @Override
            public WatchEvent next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                WatchEvent found = item;
                item = null;
                return found;
            }
        };
    }

    /** Ends it. */
    @Override
    public void close() {
        queue.end(null);
        link.ask((engine, now) -> engine.dropWatch(queue));
    }

    /** Between the connection and the reader. */
    private static final class Queue implements WatchSink {
        private final Deque<WatchEvent> items = new ArrayDeque<>();
        private boolean isPaused;
        private boolean isEnded;
        private @Nullable TenureException error;

        @Override
        public synchronized boolean offer(WatchEvent event) {
            if (items.size() >= ITEMS_IN_QUEUE) {
                return false;
            }
            items.add(event);
            notifyAll();
            return true;
        }

        @Override
        public synchronized boolean pause() {
            isPaused = !items.isEmpty();
            return !isPaused;
        }

        @Override
        public synchronized void end(@Nullable TenureException why) {
            if (!isEnded) {
                isEnded = true;
                error = why;
                notifyAll();
            }
        }

        synchronized boolean isEnded() {
            return isEnded && items.isEmpty();
        }

        /** Tells in {@code isDrained} whether the watch is to be resumed. */
        synchronized Optional<WatchEvent> take(long nanos, boolean[] isDrained) throws InterruptedException {
            long start = System.nanoTime();
            while (items.isEmpty() && !isEnded) {
                long left = nanos - (System.nanoTime() - start);
                if (left <= 0) {
                    return Optional.empty();
                }
                // Not for ever at once: what is left in nanoseconds would overflow.
                wait(Math.min(left / 1_000_000 + 1, Integer.MAX_VALUE));
            }
            WatchEvent item = items.poll();
            if (item == null && error != null) {
                TenureException told = error;
                error = null;
                throw told;
            }
            isDrained[0] = isPaused && items.isEmpty();
            if (isDrained[0]) {
                isPaused = false;
            }
            return Optional.ofNullable(item);
        }
    }
}
