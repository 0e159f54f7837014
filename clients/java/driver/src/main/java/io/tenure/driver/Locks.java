package io.tenure.driver;

import com.google.gson.JsonObject;
import io.tenure.client.Attempt;
import io.tenure.client.Claim;
import io.tenure.client.Guard;
import io.tenure.client.LockRequest;
import io.tenure.client.LostReason;
import io.tenure.client.TransferRequest;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Locks and guards. */
final class Locks {
    private final Clients clients;
    private final Named<Guard> guards = new Named<>("guard");

    Locks(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Requests.Request> known) {
        known.put("acquire", this::acquire);
        known.put("hold", this::hold);
        known.put("await_lost", fields -> {
            LostReason reason = Waiting.on(guards.get(fields).lost());
            return wrapped(reason);
        });
        known.put("tick", fields -> {
            guards.get(fields).tick();
            return new JsonObject();
        });
        known.put("release", fields -> {
            guards.get(fields).release();
            return new JsonObject();
        });
        known.put("drop", fields -> {
            guards.get(fields).releaseAsync();
            return new JsonObject();
        });
        known.put("update", fields -> {
            guards.get(fields).update(fields.labels("metadata"));
            return new JsonObject();
        });
        known.put(
                "transfer_to",
                fields -> Json.object("token", guards.get(fields).transferTo(fields.optional("session_id"))));
        known.put("await_transfer", this::awaitTransfer);
    }

    private JsonObject acquire(Fields fields) throws InterruptedException {
        Attempt attempt = attempt(request(fields, clients), fields);
        if (attempt instanceof Attempt.Acquired acquired) {
            Guard guard = guards.put(fields, acquired.held());
            return Json.object(
                    "acquired", true,
                    "token", guard.token(),
                    "names", guard.names(),
                    "session_id", guard.session().id());
        }
        return busy("acquired", ((Attempt.Busy) attempt).holder());
    }

    static JsonObject busy(String what, @Nullable Claim holder) {
        JsonObject answer = Json.object(what, false);
        if (holder != null) {
            answer.add(
                    "holder",
                    Json.object(
                            "session_id", holder.sessionId(),
                            "owner", holder.owner(),
                            "token", holder.token()));
        }
        return answer;
    }

    /** Asks as the request says; for ever unless it says how long. */
    static Attempt attempt(LockRequest request, Fields fields) throws InterruptedException {
        if (!fields.has("wait_ms")) {
            return new Attempt.Acquired(request.acquire());
        }
        Duration wait = fields.duration("wait_ms");
        return wait.isZero() ? request.tryAcquire() : request.acquireWithin(wait);
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
        TransferRequest request = Waiting.on(guards.get(fields).transferRequested());
        JsonObject answer = Json.object("drain_ms", request.drain().toMillis());
        Json.add(answer, "operator", request.operator());
        Json.add(answer, "note", request.note());
        return answer;
    }
}
