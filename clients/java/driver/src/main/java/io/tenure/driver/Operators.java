package io.tenure.driver;

import com.google.gson.JsonObject;
import io.tenure.client.EvictOptions;
import io.tenure.client.LockSettings;
import io.tenure.client.TransferOptions;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Operator calls. */
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
        EvictOptions options = new EvictOptions(
                fields.text("operator", ""), fields.has("token") ? fields.number("token") : 0, fields.text("note", ""));
        clients.clients.get(fields).evict(fields.text("name"), options);
        return new JsonObject();
    }

    private JsonObject transfer(Fields fields) throws InterruptedException {
        @Nullable Duration drain = fields.has("drain_ms") ? fields.duration("drain_ms") : null;
        TransferOptions options = new TransferOptions(
                fields.text("operator", ""), fields.text("to", ""), 0, drain, fields.text("note", ""));
        return Json.object(
                "token",
                clients.clients
                        .get(fields)
                        .transfer(fields.text("name"), options)
                        .token());
    }

    private JsonObject configure(Fields fields) throws InterruptedException {
        Integer limit = fields.has("limit") ? Integer.valueOf((int) fields.number("limit")) : null;
        LockSettings.Preempt preempt = fields.has("preempt") ? preempt(fields) : null;
        clients.clients
                .get(fields)
                .configureLock(
                        fields.text("name"),
                        new LockSettings(limit, preempt),
                        fields.text("operator", ""),
                        fields.text("note", ""));
        return new JsonObject();
    }

    private static LockSettings.Preempt preempt(Fields fields) {
        Fields times = fields.object("preempt");
        LockSettings.Preempt otherwise = LockSettings.Preempt.DEFAULT;
        return new LockSettings.Preempt(
                times.has("settling_ms") ? times.duration("settling_ms") : otherwise.settling(),
                times.has("drain_ms") ? times.duration("drain_ms") : otherwise.drain());
    }
}
