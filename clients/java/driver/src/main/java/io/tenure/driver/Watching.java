package io.tenure.driver;

import com.google.gson.JsonObject;
import io.tenure.client.LeaderWatch;
import io.tenure.client.TenureException;
import io.tenure.client.Watch;
import io.tenure.client.WatchEvent;
import io.tenure.client.WatchOptions;
import java.util.Locale;

/** Watches. */
final class Watching {
    private final Clients clients;
    private final Named<Watched> watches = new Named<>("watch");

    Watching(Clients clients) {
        this.clients = clients;
    }

    /** Anything whose items are asked for one by one. */
    private interface Watched {
        JsonObject next() throws InterruptedException;

        void close();
    }

    private record Events(Watch watch) implements Watched {
        @Override
        public JsonObject next() throws InterruptedException {
            return item(watch.next().orElseThrow(TenureException.Closed::new));
        }

        @Override
        public void close() {
            watch.close();
        }
    }

    private record Leaders(LeaderWatch watch) implements Watched {
        @Override
        public JsonObject next() throws InterruptedException {
            return Json.leader(watch.next());
        }

        @Override
        public void close() {
            watch.close();
        }
    }

    void addTo(Requests known) {
        known.addOrdered("watch", fields -> {
            WatchOptions options = new WatchOptions(
                    fields.texts("names"),
                    fields.texts("prefixes"),
                    fields.texts("groups"),
                    fields.has("after_revision") ? fields.number("after_revision") : 0);
            watches.put(fields, new Events(clients.clients.get(fields).watch(options)));
            return JsonObject::new;
        });
        known.addOrdered("observe", fields -> {
            LeaderWatch leaders =
                    clients.clients.get(fields).election(fields.text("name")).observe();
            watches.put(fields, new Leaders(leaders));
            return JsonObject::new;
        });
        known.add("next", fields -> watches.get(fields).next());
        known.add("unwatch", fields -> {
            watches.get(fields).close();
            return new JsonObject();
        });
    }

    private static JsonObject item(WatchEvent item) {
        if (item instanceof WatchEvent.Snapshot snapshot) {
            JsonObject answer = Json.object("kind", "snapshot", "revision", snapshot.revision());
            answer.add("locks", Json.list(snapshot.locks(), Json::lock));
            answer.add("groups", Json.list(snapshot.groups(), Json::group));
            return answer;
        }
        if (item instanceof WatchEvent.Events events) {
            JsonObject answer = Json.object("kind", "events", "revision", events.revision());
            answer.add("events", Json.list(events.events(), Json::event));
            answer.add("group_events", Json.list(events.groupEvents(), Json::groupEvent));
            answer.add("groups", Json.list(events.groups(), Json::group));
            return answer;
        }
        if (item instanceof WatchEvent.Progress progress) {
            return Json.object("kind", "progress", "revision", progress.revision());
        }
        WatchEvent.Cause cause = ((WatchEvent.HistoryGone) item).cause();
        return Json.object("kind", "history_gone", "cause", cause.name().toLowerCase(Locale.ROOT));
    }
}
