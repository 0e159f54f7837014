package io.tenure.client.protocol;

import io.tenure.client.v1.Change;
import io.tenure.client.v1.ConnectRequest;
import io.tenure.client.v1.Declaration;
import io.tenure.client.v1.Hello;
import io.tenure.client.v1.KeepAlive;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The current stream, from its Hello on: what is sent on it, and when to leave its server. */
final class Stream {
    /** The most changes in one message: the contract's bound. */
    private static final int CHANGES_PER_MESSAGE = 1_000;
    /** With this many bytes a message is complete. With what is added last it is below the contract's 4 MiB. */
    private static final int BYTES_PER_MESSAGE = 3 << 20;
    /** The most bytes of the tag and the length before a change. */
    private static final int BYTES_PER_CHANGE = 10;
    /** The most known numbers in one message: with what is declared it is below the contract's 4 MiB. */
    private static final int KNOWN_PER_HELLO = 100_000;

    final long epoch;
    /** The number of its Hello among the keep-alives. */
    final long hello;
    /** When its Hello was queued. */
    final long connected;
    /** When the oldest change that has a reply was queued, of those since the last states ... */
    long asked = Presence.NEVER;
    /** ... and whether a keep-alive was sent because of it. */
    boolean isProbed;
    /** Whether the client is to connect to another server. */
    boolean isLeft;
    /** The messages to send. A keep-alive acknowledges the changes before it. */
    private final Deque<ConnectRequest.Builder> outgoing = new ArrayDeque<>();
    /** The bytes of the last message. */
    private int bytes;

    Stream(long epoch, long hello, long connected) {
        this.epoch = epoch;
        this.hello = hello;
        this.connected = connected;
    }

    @Nullable
    ConnectRequest poll() {
        ConnectRequest.Builder next = outgoing.poll();
        return next == null ? null : next.build();
    }

    /** This long after the oldest change without a reply. */
    long afterAsking(long pause) {
        return asked == Presence.NEVER ? Presence.NEVER : asked + pause;
    }

    /** Queues a keep-alive. */
    void sendKeepAlive(long number) {
        outgoing.add(
                ConnectRequest.newBuilder().setKeepAlive(KeepAlive.newBuilder().setNumber(number)));
    }

    /** Queues a change: successive ones go together. */
    void send(Change change, long now) {
        if (asked == Presence.NEVER && (change.hasDeclare() || change.hasWithdraw())) {
            asked = now;
            isProbed = false;
        }
        ConnectRequest.Builder last = outgoing.peekLast();
        if (last == null
                || !last.hasChanges()
                || last.getChangesBuilder().getChangesCount() >= CHANGES_PER_MESSAGE
                || bytes >= BYTES_PER_MESSAGE) {
            last = ConnectRequest.newBuilder();
            outgoing.add(last);
            bytes = 0;
        }
        bytes += change.getSerializedSize() + BYTES_PER_CHANGE;
        last.getChangesBuilder().addChanges(change);
    }

    /** Queues a Hello that states all of this, in parts within the contract's bound. */
    void sendHello(Hello head, List<Presence> items) {
        List<Presence> known =
                items.stream().filter(item -> item.declared == null).toList();
        List<Presence> declared =
                items.stream().filter(item -> item.declared != null).toList();
        declared.forEach(item -> item.sent = connected);
        int first = 0;
        for (; first + KNOWN_PER_HELLO < known.size(); first += KNOWN_PER_HELLO) {
            sendHello(head.toBuilder().setMore(true), known.subList(first, first + KNOWN_PER_HELLO));
        }
        sendHello(head.toBuilder().addAllDeclared(declarations(declared)), known.subList(first, known.size()));
    }

    private void sendHello(Hello.Builder part, List<Presence> known) {
        known.forEach(item -> part.addKnown(item.number));
        known.stream().filter(Presence::isPaused).forEach(item -> part.addPaused(item.number));
        outgoing.add(ConnectRequest.newBuilder().setHello(part));
    }

    /** What declares these. What was declared together stays together: then a busy lock leaves no session behind. */
    static Collection<Declaration> declarations(List<Presence> items) {
        Map<Long, Declaration> all = new TreeMap<>();
        for (Presence item : items) {
            all.merge(item.declaration, item.declared, (one, other) -> one.toBuilder()
                    .mergeFrom(other)
                    .build());
        }
        return all.values();
    }
}
