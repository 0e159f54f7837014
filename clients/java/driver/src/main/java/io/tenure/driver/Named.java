package io.tenure.driver;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Things of one kind that requests have made, by their names. */
final class Named<T> {
    private final String kind;
    private final Map<String, T> things = new ConcurrentHashMap<>();

    Named(String kind) {
        this.kind = kind;
    }

    /** The one that a request names. */
    T get(Fields fields) {
        String name = fields.text(kind);
        T thing = things.get(name);
        if (thing == null) {
            throw new IllegalArgumentException("there is no " + kind + " \"" + name + "\"");
        }
        return thing;
    }

    /** Gives a thing the name that the request says. */
    T put(Fields fields, T thing) {
        things.put(fields.text(kind), thing);
        return thing;
    }
}
