package io.tenure.driver;

import com.google.gson.JsonObject;
import io.tenure.client.Attempt;
import io.tenure.client.Body;
import io.tenure.client.Hold;
import io.tenure.client.LockRequest;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

/** Closure forms. */
final class Runs {
    private final Clients clients;
    private final Named<Run> runs = new Named<>("run");

    Runs(Clients clients) {
        this.clients = clients;
    }

    /** A body that waits for the request to finish. */
    private static final class Run implements Body<Long> {
        final CompletableFuture<Long> begun = new CompletableFuture<>();
        final CountDownLatch finish = new CountDownLatch(1);

        @Override
        public Long run(Hold hold) throws InterruptedException {
            begun.complete(hold.token());
            finish.await();
            return hold.token();
        }
    }

    void addTo(Requests known) {
        known.addOrdered("run", this::begin);
        known.add("await_body", fields -> Json.object("token", Waiting.on(runs.get(fields).begun)));
        known.add("finish", fields -> {
            runs.get(fields).finish.countDown();
            return new JsonObject();
        });
    }

    private Callable<JsonObject> begin(Fields fields) {
        Run run = runs.put(fields, new Run());
        LockRequest request = Locks.request(fields, clients);
        if (!fields.has("wait_ms")) {
            return () -> ran(request.run(run));
        }
        if (!fields.duration("wait_ms").isZero()) {
            throw new IllegalArgumentException("a body runs at once, or whenever it is its turn");
        }
        return () -> tried(request.tryRun(run));
    }

    private static JsonObject tried(Attempt<Long> attempt) {
        if (attempt instanceof Attempt.Busy<Long> busy) {
            return Locks.busy("ran", busy.busy());
        }
        return ran(attempt.acquired().orElseThrow());
    }

    private static JsonObject ran(Long token) {
        return Json.object("ran", true, "token", token);
    }
}
