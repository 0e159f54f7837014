package io.tenure.client.internal.engine;

import io.tenure.client.v1.Answer;
import io.tenure.client.v1.CancelCommand;
import io.tenure.client.v1.Command;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One stream: what is said on it, and who is told the answers. */
final class Stream {
    /** Is told an answer. */
    @FunctionalInterface
    interface Handler {
        /** An answer to command {@code id}, which was sent at {@code sent}. */
        void answered(long id, Answer answer, long sent, long now);
    }

    /** A command that was sent, and whether it is answered many times. */
    private record Sent(long at, boolean goesOn, Handler handler) {}

    private final Map<Long, Sent> sent = new HashMap<>();
    private final Deque<Command> outgoing = new ArrayDeque<>();
    private long lastCommand;

    /** Whose commands are numbered from there on. */
    Stream(long lastCommand) {
        this.lastCommand = lastCommand;
    }

    long lastCommand() {
        return lastCommand;
    }

    /** Sends a command. Answers its id. */
    long send(Command.Builder command, Handler handler, long now) {
        long id = ++lastCommand;
        sent.put(id, new Sent(now, command.hasWatch(), handler));
        Command message = command.setId(id).build();
        // Renewals do not wait behind other commands.
        if (message.hasKeepAlive()) {
            outgoing.addFirst(message);
        } else {
            outgoing.addLast(message);
        }
        return id;
    }

    /** Ends a command that goes on. */
    void cancel(long command) {
        CancelCommand cancel = CancelCommand.newBuilder().setCommandId(command).build();
        outgoing.addLast(
                Command.newBuilder().setId(++lastCommand).setCancel(cancel).build());
    }

    /** An answer that comes is not listened to any more. */
    void forget(long command) {
        sent.remove(command);
    }

    boolean isUnanswered(long command) {
        return sent.containsKey(command);
    }

    /** Takes an answer in. What was cancelled nobody looks for any more. */
    void received(Answer answer, long now) {
        @Nullable Sent found = sent.get(answer.getId());
        if (found == null) {
            return;
        }
        if (!found.goesOn() || answer.hasRefusal()) {
            sent.remove(answer.getId());
        }
        found.handler().answered(answer.getId(), answer, found.at(), now);
    }

    boolean hasOutgoing() {
        return !outgoing.isEmpty();
    }

    /** What is to be sent next: at most so many commands. */
    List<Command> takeOutgoing(int most) {
        List<Command> taken = new ArrayList<>();
        while (taken.size() < most && !outgoing.isEmpty()) {
            taken.add(outgoing.removeFirst());
        }
        return taken;
    }
}
