package io.tenure.client;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/** A list that is asked for page by page, as it is looked at. */
final class Pages<T> implements Iterator<T> {
    /** One page, and what asks for the next: empty after the last one. */
    record Page<T>(List<T> items, String next) {}

    /** Reads a page. */
    @FunctionalInterface
    interface Reader<T> {
        Page<T> read(String token) throws InterruptedException;
    }

    private final Reader<T> reader;
    private final Deque<T> rest = new ArrayDeque<>();
    /** Null after the last page. */
    private @Nullable String token = "";

    private Pages(Reader<T> reader) {
        this.reader = reader;
    }

    static <T> Stream<T> of(Reader<T> reader) {
        return StreamSupport.stream(
                Spliterators.spliteratorUnknownSize(new Pages<>(reader), Spliterator.ORDERED | Spliterator.NONNULL),
                false);
    }

    @Override
    public boolean hasNext() {
        while (rest.isEmpty() && token != null) {
            try {
                Page<T> page = reader.read(token);
                rest.addAll(page.items());
                token = page.next().isEmpty() ? null : page.next();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new TenureException.Unavailable("interrupted");
            }
        }
        return !rest.isEmpty();
    }

    @Override
    public T next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        return rest.removeFirst();
    }
}
