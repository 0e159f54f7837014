package io.tenure.client;

import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * How to open a session.
 *
 * @param ttl how long the session outlives this program if that dies: 500 ms to 24 h unless the server is configured otherwise.
 *     Default: 10 s
 * @param disconnectGrace how long the session outlives this program's connection: 100 ms to the TTL. With 300 ms, what a crashed
 *     program held is with the next one within 350 ms, however long the TTL is. The client holds itself to the same rule: when none
 *     of its renewals was answered for the grace, the session is lost to it. Choose it longer than it takes to reach another server.
 *     Default: none, the TTL alone counts
 * @param owner who this is, for people: a host, a pod, a job. At most 255 bytes. Default: empty
 * @param metadata free labels: at most 4096 bytes together. Default: none
 * @param id the session's id: 1 to 128 bytes. Two programs must never use the same id at the same time. Default: a fresh one
 * @param renewWhile renews the session only while the program makes this progress. Default: renewed while the client runs
 */
public record SessionOptions(
        Duration ttl,
        @Nullable Duration disconnectGrace,
        String owner,
        Map<String, String> metadata,
        @Nullable String id,
        @Nullable Progress renewWhile) {
    public SessionOptions {
        metadata = Map.copyOf(metadata);
    }

    /** A TTL of 10 s, no disconnect grace, a fresh id, no owner, no metadata. */
    public static SessionOptions defaults() {
        return new SessionOptions(Duration.ofSeconds(10), null, "", Map.of(), null, null);
    }

    /** With this TTL. */
    public SessionOptions ttl(Duration time) {
        return new SessionOptions(time, disconnectGrace, owner, metadata, id, renewWhile);
    }

    /** With this disconnect grace. */
    public SessionOptions disconnectGrace(Duration grace) {
        return new SessionOptions(ttl, grace, owner, metadata, id, renewWhile);
    }

    /** With this owner label. */
    public SessionOptions owner(String label) {
        return new SessionOptions(ttl, disconnectGrace, label, metadata, id, renewWhile);
    }

    /** With these labels. */
    public SessionOptions metadata(Map<String, String> labels) {
        return new SessionOptions(ttl, disconnectGrace, owner, labels, id, renewWhile);
    }

    /** With one label more. */
    public SessionOptions metadata(String key, String value) {
        Map<String, String> labels = new TreeMap<>(metadata);
        labels.put(key, value);
        return metadata(labels);
    }

    /** With this id. */
    public SessionOptions id(String text) {
        return new SessionOptions(ttl, disconnectGrace, owner, metadata, text, renewWhile);
    }

    /** Renewed only while there is this progress. */
    public SessionOptions renewWhile(Progress progress) {
        return new SessionOptions(ttl, disconnectGrace, owner, metadata, id, progress);
    }
}
