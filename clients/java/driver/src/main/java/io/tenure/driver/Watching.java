package io.tenure.driver;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.tenure.client.Watch;
import io.tenure.client.v1.Claim;
import io.tenure.client.v1.Events;
import io.tenure.client.v1.WatchRequest;
import io.tenure.client.v1.WatchResponse;
import java.util.Optional;
import java.util.function.Function;

/** Watches. */
final class Watching {
    private final Clients clients;
    private final Named<Watched<?>> watches = new Named<>("watch");

    Watching(Clients clients) {
        this.clients = clients;
    }

    /** A watch whose items are requested one by one. */
    private record Watched<T>(Watch<T> watch, Function<T, JsonObject> write) {
        JsonObject next() throws InterruptedException {
            return write.apply(watch.next());
        }
    }

    void addTo(Requests known) {
        known.addOrdered("watch", fields -> {
            WatchRequest request = WatchRequest.newBuilder()
                    .addAllNames(fields.texts("names"))
                    .addAllPrefixes(fields.texts("prefixes"))
                    .addAllGroups(fields.texts("groups"))
                    .setAfterRevision(fields.has("after_revision") ? fields.number("after_revision") : 0)
                    .build();
            watches.put(fields, new Watched<>(clients.clients.get(fields).watch(request), Watching::item));
            return JsonObject::new;
        });
        known.addOrdered("observe", fields -> {
            Watch<Optional<Claim>> leaders =
                    clients.clients.get(fields).election(fields.text("name")).observe();
            watches.put(fields, new Watched<>(leaders, Json::leader));
            return JsonObject::new;
        });
        known.add("next", fields -> watches.get(fields).next());
        known.add("unwatch", fields -> {
            watches.get(fields).watch().close();
            return new JsonObject();
        });
    }

    private static JsonObject item(WatchResponse response) {
        return switch (response.getKindCase()) {
            case SNAPSHOT -> {
                JsonObject item = Json.object("kind", "snapshot", "revision", response.getRevision());
                item.add("locks", Json.list(response.getSnapshot().getLocksList(), Json::lock));
                item.add("groups", Json.list(response.getSnapshot().getGroupsList(), Json::group));
                yield item;
            }
            case EVENTS -> {
                Events events = response.getEvents();
                JsonObject item = Json.object("kind", "events", "revision", response.getRevision());
                JsonArray list = new JsonArray();
                events.getEventsList().forEach(event -> Json.events(event).forEach(list::add));
                item.add("events", list);
                item.add("group_events", Json.list(events.getGroupEventsList(), Json::groupEvent));
                item.add("groups", Json.list(events.getGroupsList(), Json::group));
                yield item;
            }
            case HISTORY_GONE ->
                Json.object(
                        "kind",
                        "history_gone",
                        "cause",
                        Json.word(response.getHistoryGone().getCause(), "HISTORY_GONE_CAUSE_"));
            default -> Json.object("kind", "progress", "revision", response.getRevision());
        };
    }
}
