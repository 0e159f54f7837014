package io.tenure.driver;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** All requests, by what they do. */
final class Requests {
    /** One request. */
    @FunctionalInterface
    interface Request {
        /** Carries it out, on a thread of its own, which is interrupted when it is cancelled. */
        JsonObject carryOut(Fields fields) throws Exception;
    }

    private final Map<String, Request> known = new TreeMap<>();
    private final Runs runs;

    Requests() {
        Clients clients = new Clients();
        runs = new Runs(clients);
        clients.addTo(known);
        new Locks(clients).addTo(known);
        runs.addTo(known);
        new Leads(clients).addTo(known);
        new Watching(clients).addTo(known);
        new Groups(clients).addTo(known);
        new Operators(clients).addTo(known);
        known.put("hello", fields -> Json.object("client", "java", "does", does()));
    }

    private List<String> does() {
        List<String> does = new ArrayList<>(known.keySet());
        does.add("cancel");
        return does;
    }

    /** In the order in which requests come: names what is under way, so that the next request finds it. */
    void prepare(Fields fields) {
        if (fields.text("do").equals("run")) {
            runs.prepare(fields);
        }
    }

    JsonObject carryOut(String what, Fields fields) throws Exception {
        Request request = known.get(what);
        if (request == null) {
            throw new IllegalArgumentException("this driver does not know how to " + what);
        }
        return request.carryOut(fields);
    }
}
