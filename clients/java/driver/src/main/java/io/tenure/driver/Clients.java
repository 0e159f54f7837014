package io.tenure.driver;

import com.google.gson.JsonObject;
import io.tenure.client.ClientOptions;
import io.tenure.client.LostReason;
import io.tenure.client.Session;
import io.tenure.client.SessionState;
import io.tenure.client.TenureClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/** Clients and sessions. */
final class Clients {
    final Named<TenureClient> clients = new Named<>("client");
    final Named<Session> sessions = new Named<>("session");

    void addTo(Requests known) {
        known.add("connect", this::connect);
        known.add("close", fields -> {
            clients.get(fields).close();
            return new JsonObject();
        });
        known.add("session", this::session);
        known.add("session_state", fields -> state(sessions.get(fields)));
        known.add("await_state", this::awaitState);
        known.add("close_session", fields -> {
            Waiting.on(sessions.get(fields).closeAsync());
            return new JsonObject();
        });
    }

    private JsonObject connect(Fields fields) {
        ClientOptions options = ClientOptions.defaults();
        if (fields.has("endpoints")) {
            options = options.endpoints(fields.texts("endpoints"));
        }
        if (fields.has("namespace")) {
            options = options.namespace(fields.text("namespace"));
        }
        if (fields.has("connect_timeout_ms")) {
            options = options.connectTimeout(fields.duration("connect_timeout_ms"));
        }
        if (fields.has("call_timeout_ms")) {
            options = options.callTimeout(fields.duration("call_timeout_ms"));
        }
        options = options.caCert(file(fields, "ca_cert"))
                .clientCert(file(fields, "client_cert"), file(fields, "client_key"))
                .tlsServerName(fields.optional("tls_server_name"))
                .token(fields.optional("token"))
                .tokenFile(file(fields, "token_file"));
        clients.put(fields, TenureClient.connect(options));
        return new JsonObject();
    }

    private static @Nullable Path file(Fields fields, String field) {
        return fields.has(field) ? Path.of(fields.text(field)) : null;
    }

    private JsonObject session(Fields fields) throws InterruptedException {
        Session session = sessions.put(fields, clients.get(fields).session(fields.session(true)));
        JsonObject answer = Json.object(
                "session_id", session.id(), "ttl_ms", session.options().ttl().toMillis());
        Duration grace = session.options().disconnectGrace();
        if (grace != null) {
            answer.addProperty("disconnect_grace_ms", grace.toMillis());
        }
        return answer;
    }

    private static JsonObject state(Session session) {
        JsonObject answer = Json.object(
                "state", session.state().name().toLowerCase(Locale.ROOT),
                "valid", session.isValid());
        LostReason lost = session.lostReason();
        if (lost != null) {
            answer.add("lost", Json.lost(lost));
        }
        return answer;
    }

    private JsonObject awaitState(Fields fields) throws InterruptedException {
        Session session = sessions.get(fields);
        SessionState wanted = SessionState.valueOf(fields.text("state").toUpperCase(Locale.ROOT));
        Semaphore changes = new Semaphore(0);
        session.onState(state -> changes.release());
        for (SessionState seen = session.state(); seen != wanted && seen != SessionState.LOST; seen = session.state()) {
            changes.acquire();
        }
        return state(session);
    }
}
