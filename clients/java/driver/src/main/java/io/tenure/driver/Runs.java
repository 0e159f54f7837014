package io.tenure.driver;

import com.google.gson.JsonObject;
import io.tenure.client.Body;
import io.tenure.client.Hold;
import io.tenure.client.LockRequest;
import io.tenure.client.Ran;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

/** Closure forms. */
final class Runs {
    private final Clients clients;
    private final Named<Run> runs = new Named<>("run");

    Runs(Clients clients) {
        this.clients = clients;
    }

    /** A body that waits to be told to finish. */
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

    void addTo(Map<String, Requests.Request> known) {
        known.put("run", this::run);
        known.put("await_body", fields -> Json.object("token", Waiting.on(runs.get(fields).begun)));
        known.put("finish", fields -> {
            runs.get(fields).finish.countDown();
            return new JsonObject();
        });
    }

    void prepare(Fields fields) {
        runs.put(fields, new Run());
    }

    private JsonObject run(Fields fields) throws Exception {
        Run run = runs.get(fields);
        LockRequest request = Locks.request(fields, clients);
        if (fields.has("wait_ms") && fields.number("wait_ms") == 0) {
            Ran<Long> ran = request.tryRun(run);
            if (ran instanceof Ran.Busy<Long> busy) {
                return Locks.busy("ran", busy.holder());
            }
            return Json.object("ran", true, "cancelled", false, "token", run.begun.join());
        }
        return Json.object("ran", true, "cancelled", false, "token", request.run(run));
    }
}
