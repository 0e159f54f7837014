package io.tenure.driver;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.tenure.client.LostReason;
import io.tenure.client.Standing;
import io.tenure.client.TenureException;
import io.tenure.client.v1.Claim;
import io.tenure.client.v1.EndReason;
import io.tenure.client.v1.Event;
import io.tenure.client.v1.Group;
import io.tenure.client.v1.GroupEvent;
import io.tenure.client.v1.GroupMember;
import io.tenure.client.v1.Lock;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** How the protocol writes things. */
final class Json {
    private static final Gson GSON = new Gson();

    private Json() {}

    static JsonObject object(@Nullable Object... pairs) {
        JsonObject object = new JsonObject();
        for (int place = 0; place < pairs.length; place += 2) {
            object.add(String.valueOf(pairs[place]), GSON.toJsonTree(pairs[place + 1]));
        }
        return object;
    }

    static <T> JsonArray list(List<T> items, Function<T, JsonObject> write) {
        JsonArray list = new JsonArray();
        items.forEach(item -> list.add(write.apply(item)));
        return list;
    }

    static JsonObject error(String kind, String message) {
        return object("kind", kind, "message", message);
    }

    static JsonObject error(TenureException error) {
        if (error instanceof TenureException.Refused refused) {
            JsonObject refusal = error("refused", error.getMessage());
            refusal.addProperty("reason", refused.refusal().getReason());
            refusal.add("metadata", labels(refused.refusal().getMetadataMap()));
            return refusal;
        }
        if (error instanceof TenureException.Lost lost) {
            JsonObject loss = error("lost", error.getMessage());
            loss.add("lost", lost(lost.reason()));
            return loss;
        }
        if (error instanceof TenureException.Invalid invalid) {
            JsonObject refusal = error("invalid", error.getMessage());
            refusal.addProperty("field", invalid.field());
            return refusal;
        }
        return error(error instanceof TenureException.Closed ? "closed" : "unavailable", error.getMessage());
    }

    static JsonObject lost(LostReason reason) {
        boolean isUnrenewed = reason.kind() == LostReason.Kind.UNRENEWED;
        JsonObject lost = object("reason", isUnrenewed ? "expired" : word(reason.kind(), ""));
        addEndReason(lost, reason.ended().getReason());
        addText(lost, "operator", reason.ended().getOperator());
        addText(lost, "note", reason.ended().getNote());
        return lost;
    }

    /** A value in one lowercase word: its name without this prefix. */
    static String word(Enum<?> value, String prefix) {
        return value.name().replace(prefix, "").toLowerCase(Locale.ROOT);
    }

    private static void addEndReason(JsonObject object, EndReason reason) {
        if (reason != EndReason.END_REASON_UNSPECIFIED) {
            object.addProperty("end_reason", word(reason, "END_REASON_"));
        }
    }

    /** Adds a text, unless it is empty. */
    static void addText(JsonObject object, String field, String text) {
        if (!text.isEmpty()) {
            object.addProperty(field, text);
        }
    }

    /** Adds what is known. */
    static void add(JsonObject object, String field, @Nullable Object value) {
        if (value != null) {
            object.addProperty(field, value.toString());
        }
    }

    /** Adds a token, if there is one. */
    static void addToken(JsonObject object, long token) {
        if (token != 0) {
            object.addProperty("token", token);
        }
    }

    private static JsonObject labels(Map<String, String> labels) {
        JsonObject object = new JsonObject();
        labels.forEach(object::addProperty);
        return object;
    }

    static JsonObject claim(Claim claim) {
        JsonObject object = object(
                "session_id", claim.getSessionId(),
                "owner", claim.getOwner(),
                "mode", word(claim.getMode(), "MODE_"),
                "priority", claim.getPriority());
        addToken(object, claim.getToken());
        object.add("metadata", labels(claim.getMetadataMap()));
        return object;
    }

    static JsonObject lock(Lock lock) {
        JsonObject object = object("name", lock.getName());
        object.add("holders", list(lock.getHoldersList(), Json::claim));
        object.add("waiters", list(lock.getWaitersList(), Json::claim));
        return object;
    }

    /** An event, once for each of its locks. */
    static List<JsonObject> events(Event event) {
        List<JsonObject> events = new ArrayList<>();
        for (String name : event.getNamesList()) {
            JsonObject object = object(
                    "revision", event.getRevision(),
                    "name", name,
                    "kind", word(event.getType(), "EVENT_TYPE_"),
                    "vacant", event.getVacantNamesList().contains(name));
            if (event.hasClaim()) {
                object.addProperty("session_id", event.getClaim().getSessionId());
                addToken(object, event.getClaim().getToken());
            }
            addEndReason(object, event.getEndReason());
            events.add(object);
        }
        return events;
    }

    static JsonObject groupEvent(GroupEvent event) {
        JsonObject object = object(
                "revision", event.getRevision(),
                "group", event.getGroup(),
                "kind", word(event.getType(), "GROUP_EVENT_TYPE_"));
        if (event.hasMember()) {
            object.addProperty("session_id", event.getMember().getSessionId());
            object.addProperty("number", event.getMember().getNumber());
        }
        addEndReason(object, event.getEndReason());
        add(object, "config", event.hasConfig() ? event.getConfig() : null);
        return object;
    }

    static JsonObject leader(Optional<Claim> leader) {
        JsonObject answer = new JsonObject();
        leader.ifPresent(found -> answer.add(
                "leader",
                object("session_id", found.getSessionId(), "owner", found.getOwner(), "token", found.getToken())));
        return answer;
    }

    static JsonObject group(Group group) {
        JsonObject object = object("name", group.getName(), "current", group.getAssignmentsCurrent());
        object.add("members", list(group.getMembersList(), Json::member));
        if (group.hasLeader()) {
            object.add(
                    "leader",
                    object(
                            "number", group.getLeader().getMember(),
                            "token", group.getLeader().getToken(),
                            "session_id", group.getLeader().getSessionId()));
        }
        add(object, "config", group.hasConfig() ? group.getConfig() : null);
        return object;
    }

    private static JsonObject member(GroupMember member) {
        JsonObject object = object(
                "number", member.getNumber(),
                "session_id", member.getSessionId(),
                "owner", member.getOwner());
        add(object, "assignment", member.hasAssignment() ? member.getAssignment() : null);
        return object;
    }

    static JsonObject standing(Standing standing) {
        Group group = standing.group();
        JsonObject object = object(
                "leads", standing.leads(),
                "number", standing.number(),
                "current", standing.isCurrent(),
                "members",
                        group.getMembersList().stream()
                                .map(GroupMember::getNumber)
                                .toList());
        addToken(object, standing.token());
        add(object, "assignment", standing.assignment().orElse(null));
        add(object, "config", group.hasConfig() ? group.getConfig() : null);
        if (standing.lost() != null) {
            object.add("lost", lost(standing.lost()));
        }
        return object;
    }
}
