package io.tenure.driver;

import com.google.gson.JsonObject;
import com.google.protobuf.Duration;
import io.tenure.client.v1.ConfigureLockRequest;
import io.tenure.client.v1.EvictRequest;
import io.tenure.client.v1.LockSettings;
import io.tenure.client.v1.Preempt;
import io.tenure.client.v1.TransferRequest;

/** Operators' calls. */
final class Operators {
    private final Clients clients;

    Operators(Clients clients) {
        this.clients = clients;
    }

    void addTo(Requests known) {
        known.add("get_lock", fields -> Json.lock(clients.clients.get(fields).getLock(fields.text("name"))));
        known.add("evict", this::evict);
        known.add("transfer", this::transfer);
        known.add("configure_lock", this::configure);
    }

    private JsonObject evict(Fields fields) throws InterruptedException {
        EvictRequest request = EvictRequest.newBuilder()
                .setName(fields.text("name"))
                .setToken(fields.has("token") ? fields.number("token") : 0)
                .setOperator(fields.text("operator", ""))
                .setNote(fields.text("note", ""))
                .build();
        clients.clients.get(fields).evict(request);
        return new JsonObject();
    }

    private JsonObject transfer(Fields fields) throws InterruptedException {
        TransferRequest.Builder request = TransferRequest.newBuilder()
                .setName(fields.text("name"))
                .setToSessionId(fields.text("to", ""))
                .setOperator(fields.text("operator", ""))
                .setNote(fields.text("note", ""));
        if (fields.has("drain_ms")) {
            request.setDrain(duration(fields, "drain_ms"));
        }
        return Json.object(
                "token", clients.clients.get(fields).transfer(request.build()).getToken());
    }

    private JsonObject configure(Fields fields) throws InterruptedException {
        LockSettings.Builder settings = LockSettings.newBuilder();
        if (fields.has("limit")) {
            settings.setLimit((int) fields.number("limit"));
        }
        if (fields.has("preempt")) {
            settings.setPreempt(preempt(fields.object("preempt")));
        }
        ConfigureLockRequest request = ConfigureLockRequest.newBuilder()
                .setName(fields.text("name"))
                .setSettings(settings)
                .setOperator(fields.text("operator", ""))
                .setNote(fields.text("note", ""))
                .build();
        clients.clients.get(fields).configureLock(request);
        return new JsonObject();
    }

    private static Preempt preempt(Fields times) {
        Preempt.Builder preempt = Preempt.newBuilder();
        if (times.has("settling_ms")) {
            preempt.setSettling(duration(times, "settling_ms"));
        }
        if (times.has("drain_ms")) {
            preempt.setDrain(duration(times, "drain_ms"));
        }
        return preempt.build();
    }

    private static Duration duration(Fields fields, String field) {
        java.time.Duration time = fields.duration(field);
        return Duration.newBuilder()
                .setSeconds(time.getSeconds())
                .setNanos(time.getNano())
                .build();
    }
}
