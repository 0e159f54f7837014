package io.tenure.driver;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/** All requests, by what they do. */
final class Requests {
    /** One request. */
    @FunctionalInterface
    interface Request {
        /** Carries it out, on a thread of its own, which is interrupted when it is cancelled. */
        JsonObject carryOut(Fields fields) throws Exception;
    }

    /** One whose beginning counts for the requests that come next. */
    @FunctionalInterface
    interface Ordered {
        /** Begins it, before the next request is read. What is left to do is done as a {@link Request} is. */
        Callable<JsonObject> begin(Fields fields) throws Exception;
    }

    private final Map<String, Ordered> known = new TreeMap<>();

    Requests() {
        Clients clients = new Clients();
        clients.addTo(this);
        new Locks(clients).addTo(this);
        new Runs(clients).addTo(this);
        new Leads(clients).addTo(this);
        new Watching(clients).addTo(this);
        new Groups(clients).addTo(this);
        new Operators(clients).addTo(this);
        new Measuring(clients).addTo(this);
        add("hello", fields -> Json.object("client", "java", "does", does()));
    }

    /** This is how to do that. */
    void add(String what, Request request) {
        addOrdered(what, fields -> () -> request.carryOut(fields));
    }

    /** This is how to do that, and to begin it in the order of requests. */
    void addOrdered(String what, Ordered request) {
        known.put(what, request);
    }

    private List<String> does() {
        List<String> does = new ArrayList<>(known.keySet());
        does.add("cancel");
        return does;
    }

    Callable<JsonObject> begin(Fields fields) throws Exception {
        String what = fields.text("do");
        Ordered request = known.get(what);
        if (request == null) {
            throw new IllegalArgumentException("this driver does not know how to " + what);
        }
        return request.begin(fields);
    }
}
