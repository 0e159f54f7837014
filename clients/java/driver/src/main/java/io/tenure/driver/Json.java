package io.tenure.driver;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.tenure.client.Claim;
import io.tenure.client.Election;
import io.tenure.client.Group;
import io.tenure.client.GroupEvent;
import io.tenure.client.GroupMember;
import io.tenure.client.LockEvent;
import io.tenure.client.LockInfo;
import io.tenure.client.LostReason;
import io.tenure.client.Standing;
import io.tenure.client.TenureException;
import java.util.List;
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
            refusal.addProperty("reason", refused.refusal().code());
            refusal.add("metadata", labels(refused.refusal().metadata()));
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
        JsonObject lost = object("reason", reason.kind().word());
        add(lost, "end_reason", reason.endReason());
        add(lost, "operator", reason.operator());
        add(lost, "note", reason.note());
        return lost;
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
                "session_id", claim.sessionId(),
                "owner", claim.owner(),
                "mode", claim.mode().kind().toString(),
                "priority", claim.priority());
        addToken(object, claim.token());
        object.add("metadata", labels(claim.metadata()));
        return object;
    }

    static JsonObject lock(LockInfo lock) {
        JsonObject object = object("name", lock.name());
        object.add("holders", list(lock.holders(), Json::claim));
        object.add("waiters", list(lock.waiters(), Json::claim));
        return object;
    }

    static JsonObject event(LockEvent event) {
        JsonObject object = object(
                "revision", event.revision(),
                "name", event.name(),
                "kind", event.kind().toString(),
                "vacant", event.vacant());
        Claim claim = event.claim();
        if (claim != null) {
            object.addProperty("session_id", claim.sessionId());
            addToken(object, claim.token());
        }
        add(object, "end_reason", event.endReason());
        return object;
    }

    static JsonObject groupEvent(GroupEvent event) {
        JsonObject object = object(
                "revision", event.revision(),
                "group", event.group(),
                "kind", event.kind().toString());
        GroupMember member = event.member();
        if (member != null) {
            object.addProperty("session_id", member.sessionId());
            object.addProperty("number", member.number());
        }
        add(object, "end_reason", event.endReason());
        add(object, "config", event.config());
        return object;
    }

    static JsonObject leader(Optional<Election.Leader> leader) {
        JsonObject answer = new JsonObject();
        leader.ifPresent(found -> answer.add(
                "leader", object("session_id", found.sessionId(), "owner", found.owner(), "token", found.token())));
        return answer;
    }

    static JsonObject group(Group group) {
        JsonObject object = object("name", group.name(), "current", group.assignmentsCurrent());
        object.add("members", list(group.members(), Json::member));
        Group.Leader leader = group.leader();
        if (leader != null) {
            object.add(
                    "leader",
                    object("number", leader.member(), "token", leader.token(), "session_id", leader.sessionId()));
        }
        add(object, "config", group.config());
        return object;
    }

    private static JsonObject member(GroupMember member) {
        JsonObject object = object(
                "number", member.number(),
                "session_id", member.sessionId(),
                "owner", member.owner());
        add(object, "assignment", member.assignment());
        return object;
    }

    static JsonObject standing(Standing standing) {
        JsonObject object = object(
                "leads", standing.leads(),
                "number", standing.number(),
                "current", standing.isCurrent(),
                "members",
                        standing.group().members().stream()
                                .map(GroupMember::number)
                                .toList());
        addToken(object, standing.token());
        add(object, "assignment", standing.assignment().orElse(null));
        add(object, "config", standing.group().config());
        if (standing.lost() != null) {
            object.add("lost", lost(standing.lost()));
        }
        return object;
    }
}
