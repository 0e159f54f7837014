package io.tenure.client.internal.engine;

import io.tenure.client.Group;
import io.tenure.client.LockInfo;
import io.tenure.client.Refusal;
import io.tenure.client.TenureException;
import io.tenure.client.WatchEvent;
import io.tenure.client.internal.Backoff;
import io.tenure.client.internal.Convert;
import io.tenure.client.v1.Answer;
import io.tenure.client.v1.Command;
import io.tenure.client.v1.Events;
import io.tenure.client.v1.HistoryGoneCause;
import io.tenure.client.v1.Snapshot;
import io.tenure.client.v1.WatchRequest;
import io.tenure.client.v1.WatchResponse;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Watches: resumed after the last revision that their reader was told, on whatever stream there is. */
final class Watches {
    /** One watch. */
    private static final class Watched {
        final WatchSink sink;
        final WatchRequest options;
        /** Of the parts of a snapshot that have come so far: of a lock that changed meanwhile, what came last. */
        final Map<String, LockInfo> locks = new LinkedHashMap<>();

        final List<Group> groups = new ArrayList<>();
        final Backoff backoff = Backoff.ofCalls();
        long command;
        boolean isPaused;
        /** All up to this revision has been told. */
        long after;

        Watched(WatchSink sink, WatchRequest options) {
            this.sink = sink;
            this.options = options;
            this.after = options.getAfterRevision();
        }

        void detach() {
            command = 0;
            locks.clear();
            groups.clear();
        }
    }

    private final Engine engine;
    private final Map<WatchSink, Watched> watches = new LinkedHashMap<>();

    Watches(Engine engine) {
        this.engine = engine;
    }

    void start(WatchSink sink, WatchRequest options, long now) {
        Watched watched = new Watched(sink, options);
        watches.put(sink, watched);
        send(watched, now);
    }

    /** The reader has caught up. */
    void resume(WatchSink sink, long now) {
        Watched watched = watches.get(sink);
        if (watched != null) {
            watched.isPaused = false;
            send(watched, now);
        }
    }

    /** Nobody reads it any more. */
    void drop(WatchSink sink) {
        Watched watched = watches.remove(sink);
        if (watched != null) {
            stop(watched);
        }
    }

    void endAll() {
        watches.values().forEach(watched -> watched.sink.end(null));
        watches.clear();
    }

    void detachAll() {
        watches.values().forEach(Watched::detach);
    }

    void sendAll(long now) {
        List.copyOf(watches.values()).forEach(watched -> send(watched, now));
    }

    private void send(Watched watched, long now) {
        boolean isThere = watches.get(watched.sink) == watched;
        if (!isThere || watched.isPaused || watched.command != 0 || !engine.hasStream()) {
            return;
        }
        WatchRequest message = watched.options.toBuilder()
                .setNamespace(engine.namespace)
                .setAfterRevision(watched.after)
                .build();
        watched.command = engine.send(
                Command.newBuilder().setWatch(message),
                (number, answer, sent, then) -> answered(watched, number, answer, then),
                now);
    }

    /** Ends a watch on the stream. What it still tells is not listened to. */
    private void stop(Watched watched) {
        if (watched.command != 0) {
            engine.forget(watched.command);
            engine.cancel(watched.command);
        }
        watched.detach();
    }

    private void answered(Watched watched, long command, Answer answer, long now) {
        if (watches.get(watched.sink) != watched || watched.command != command) {
            return;
        }
        switch (answer.getKindCase()) {
            case WATCH -> told(watched, answer.getWatch(), now);
            case REFUSAL -> refused(watched, Convert.refusal(answer.getRefusal()), now);
            default -> engine.misfit(answer);
        }
    }

    private void told(Watched watched, WatchResponse told, long now) {
        watched.backoff.reset();
        long revision = told.getRevision();
        switch (told.getKindCase()) {
            case SNAPSHOT -> {
                Snapshot part = told.getSnapshot();
                part.getLocksList().forEach(lock -> watched.locks.put(lock.getName(), Convert.lock(lock)));
                part.getGroupsList().forEach(group -> watched.groups.add(Convert.group(group)));
                if (!part.getMore()) {
                    WatchEvent snapshot =
                            new WatchEvent.Snapshot(List.copyOf(watched.locks.values()), watched.groups, revision);
                    watched.locks.clear();
                    watched.groups.clear();
                    tell(watched, snapshot, revision, now);
                }
            }
            case EVENTS -> {
                Events events = told.getEvents();
                WatchEvent event = new WatchEvent.Events(
                        events.getEventsList().stream().flatMap(Convert::events).toList(),
                        events.getGroupEventsList().stream()
                                .map(Convert::groupEvent)
                                .toList(),
                        events.getGroupsList().stream().map(Convert::group).toList(),
                        revision);
                tell(watched, event, revision, now);
            }
            case HISTORY_GONE -> {
                watched.locks.clear();
                watched.groups.clear();
                tell(
                        watched,
                        new WatchEvent.HistoryGone(cause(told.getHistoryGone().getCause())),
                        0,
                        now);
            }
            case PROGRESS, KIND_NOT_SET -> tell(watched, new WatchEvent.Progress(revision), revision, now);
        }
    }

    private static WatchEvent.Cause cause(HistoryGoneCause cause) {
        return switch (cause) {
            case HISTORY_GONE_CAUSE_COMPACTED -> WatchEvent.Cause.COMPACTED;
            case HISTORY_GONE_CAUSE_LOST -> WatchEvent.Cause.LOST;
            case HISTORY_GONE_CAUSE_UNSPECIFIED, UNRECOGNIZED -> WatchEvent.Cause.UNKNOWN;
        };
    }

    /** Stops a watch whose reader is behind: nothing may pile up here. What could not be told now is asked for again later. */
    private void tell(Watched watched, WatchEvent event, long after, long now) {
        if (watched.sink.offer(event)) {
            watched.after = after;
            return;
        }
        watched.isPaused = true;
        stop(watched);
        if (watched.sink.pause()) {
            resume(watched.sink, now);
        }
    }

    private void refused(Watched watched, Refusal refusal, long now) {
        watched.detach();
        if (engine.isForNow(refusal)) {
            engine.timers.set(now + watched.backoff.next(), later -> send(watched, later));
            return;
        }
        watches.remove(watched.sink);
        watched.sink.end(new TenureException.Refused(refusal));
    }
}
