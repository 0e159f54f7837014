package io.tenure.driver;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.tenure.client.Progress;
import io.tenure.client.SessionOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The fields of a request. */
final class Fields {
    private final JsonObject request;

    Fields(JsonObject request) {
        this.request = request;
    }

    boolean has(String field) {
        return request.has(field) && !request.get(field).isJsonNull();
    }

    private JsonElement get(String field) {
        if (!has(field)) {
            throw new IllegalArgumentException("there is no \"" + field + "\"");
        }
        return request.get(field);
    }

    String text(String field) {
        return get(field).getAsString();
    }

    String text(String field, String otherwise) {
        return has(field) ? text(field) : otherwise;
    }

    @Nullable
    String optional(String field) {
        return has(field) ? text(field) : null;
    }

    long number(String field) {
        return get(field).getAsLong();
    }

    boolean flag(String field) {
        return get(field).getAsBoolean();
    }

    Fields object(String field) {
        return new Fields(get(field).getAsJsonObject());
    }

    Duration duration(String field) {
        return Duration.ofMillis(number(field));
    }

    List<String> texts(String field) {
        List<String> texts = new ArrayList<>();
        if (has(field)) {
            get(field).getAsJsonArray().forEach(text -> texts.add(text.getAsString()));
        }
        return texts;
    }

    Map<String, String> labels(String field) {
        Map<String, String> labels = new TreeMap<>();
        get(field).getAsJsonObject().asMap().forEach((key, value) -> labels.put(key, value.getAsString()));
        return labels;
    }

    /** Options of a session; what is absent is the client's own default. */
    SessionOptions session(boolean withMetadata) {
        SessionOptions options = SessionOptions.defaults();
        if (has("ttl_ms")) {
            options = options.ttl(duration("ttl_ms"));
        }
        if (has("disconnect_grace_ms")) {
            options = options.disconnectGrace(duration("disconnect_grace_ms"));
        }
        if (has("owner")) {
            options = options.owner(text("owner"));
        }
        if (withMetadata && has("metadata")) {
            options = options.metadata(labels("metadata"));
        }
        if (has("session_id")) {
            options = options.id(text("session_id"));
        }
        if (withMetadata && has("stall_after_ms")) {
            options = options.renewWhile(Progress.within(duration("stall_after_ms")));
        }
        return options;
    }
}
