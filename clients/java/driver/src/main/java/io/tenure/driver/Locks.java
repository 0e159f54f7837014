package io.tenure.driver;

import com.google.gson.JsonObject;
import io.tenure.client.Attempt;
import io.tenure.client.Guard;
import io.tenure.client.Handoff;
import io.tenure.client.LockRequest;
import io.tenure.client.LostReason;
import io.tenure.client.v1.BusyState;
import io.tenure.client.v1.PendingTransfer;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

/** Locks and guards. */
final class Locks {
    private final Clients clients;
    private final Named<Guard> guards = new Named<>("guard");

    Locks(Clients clients) {
        this.clients = clients;
    }

    void addTo(Requests known) {
        known.addOrdered("acquire", this::acquire);
        known.add("hold", this::hold);
        known.add("await_lost", fields -> {
            LostReason reason = Waiting.on(guards.get(fields).lost());
            return wrapped(reason);
        });
        known.add("tick", fields -> {
            guards.get(fields).tick();
            return new JsonObject();
        });
        known.addOrdered("release", fields -> {
            CompletableFuture<Void> released = guards.get(fields).releaseAsync();
            return () -> {
                Waiting.on(released);
                return new JsonObject();
            };
        });
        known.addOrdered("drop", fields -> {
            guards.get(fields).releaseAsync();
            return JsonObject::new;
        });
        known.add("update", fields -> {
            guards.get(fields).updateMetadata(fields.labels("metadata"));
            return new JsonObject();
        });
        known.add(
                "transfer_to",
                fields -> Json.object("token", guards.get(fields).transferTo(fields.optional("session_id"))));
        known.add("await_transfer", this::awaitTransfer);
    }

    /** Requests the locks; without a limit of the wait unless the request has one. */
    private Callable<JsonObject> acquire(Fields fields) {
        LockRequest request = request(fields, clients);
        if (!fields.has("wait_ms")) {
            CompletableFuture<Guard> guard = request.acquireAsync();
            return () -> acquired(fields, Waiting.on(guard));
        }
        CompletableFuture<Attempt<Guard>> attempt = request.acquireWithinAsync(fields.duration("wait_ms"));
        return () -> tried(fields, Waiting.on(attempt));
    }

    private JsonObject tried(Fields fields, Attempt<Guard> attempt) {
        if (attempt instanceof Attempt.Busy<Guard> busy) {
            return busy("acquired", busy.busy());
        }
        return acquired(fields, attempt.acquired().orElseThrow());
    }

    private JsonObject acquired(Fields fields, Guard guard) {
        guards.put(fields, guard);
        return Json.object(
                "acquired", true,
                "token", guard.token(),
                "names", guard.names(),
                "session_id", guard.session().id());
    }

    static JsonObject busy(String what, BusyState busy) {
        JsonObject answer = Json.object(what, false);
        if (busy.hasHolder()) {
            answer.add("holder", Json.claim(busy.getHolder()));
        }
        return answer;
    }

    static LockRequest request(Fields fields, Clients clients) {
        LockRequest request = fields.has("session")
                ? clients.sessions.get(fields).locks(fields.texts("names"))
                : clients.clients.get(fields).locks(fields.texts("names")).session(fields.session(false));
        if (fields.has("mode") && fields.text("mode").equals("shared")) {
            request = request.shared();
        }
        if (fields.has("permits")) {
            request = request.permits((int) fields.number("permits"));
        }
        if (fields.has("limit")) {
            request = request.limit((int) fields.number("limit"));
        }
        if (fields.has("priority")) {
            request = request.priority((int) fields.number("priority"));
        }
        if (fields.has("metadata")) {
            request = request.metadata(fields.labels("metadata"));
        }
        if (fields.has("min_hold_ms")) {
            request = request.minHold(fields.duration("min_hold_ms"));
        }
        if (fields.has("stall_after_ms")) {
            request = request.stallAfter(fields.duration("stall_after_ms"));
        }
        return request;
    }

    private JsonObject hold(Fields fields) {
        Guard guard = guards.get(fields);
        JsonObject answer = Json.object("valid", guard.isValid(), "token", guard.token());
        LostReason lost = guard.lostReason();
        if (lost != null) {
            answer.add("lost", Json.lost(lost));
        }
        return answer;
    }

    private static JsonObject wrapped(LostReason reason) {
        JsonObject answer = new JsonObject();
        answer.add("lost", Json.lost(reason));
        return answer;
    }

    private JsonObject awaitTransfer(Fields fields) throws InterruptedException {
        Handoff handoff = Waiting.on(guards.get(fields).transferRequested());
        PendingTransfer pending = handoff.pending();
        Duration drain = Duration.ofSeconds(
                pending.getDrain().getSeconds(), pending.getDrain().getNanos());
        JsonObject answer = Json.object("drain_ms", drain.toMillis());
        Json.addText(answer, "operator", pending.getOperator());
        Json.addText(answer, "note", pending.getNote());
        return answer;
    }
}
