package io.tenure.client;

import com.google.protobuf.Duration.Builder;
import io.tenure.client.v1.DeclaredSession;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How to open a session. Each option returns new options.
 *
 * @param ttl how long the session outlives this program: 500 ms to 24 h unless the server is configured otherwise. Default: 10 s
 * @param disconnectGrace how long the session outlives this program's connection: 100 ms to the TTL. With 300 ms, the lock of a crashed
 *     program is granted to the next one within 350 ms, however long the TTL is. The client applies the same rule to itself: when no
 *     renewal was answered for the grace, the session is lost. Choose it longer than it takes to reach another server. Default: none,
 *     the TTL alone applies
 * @param owner the owner label, for people: a host, a pod, a job. At most 255 bytes. Default: {@code PROGRAM@HOST}
 * @param metadata free labels: at most 4096 bytes together. Default: none
 * @param id the session's id: 1 to 128 bytes. Rejected while another program has a session of this id open. Default: a fresh one
 * @param renewWhile renews the session only while the program makes this progress, even while it waits for a lock. Default: renewed
 *     while the client runs
 */
public record SessionOptions(
        Duration ttl,
        @Nullable Duration disconnectGrace,
        String owner,
        Map<String, String> metadata,
        @Nullable String id,
        @Nullable Progress renewWhile) {
    private static final int LONGEST_OWNER = 255;
    private static final String DEFAULT_OWNER = owner(System.getProperty("sun.java.command", "java"), host());

    public SessionOptions {
        metadata = Map.copyOf(metadata);
    }

    /** A TTL of 10 s, no disconnect grace, this program and host as the owner, a fresh id, no metadata. */
    public static SessionOptions defaults() {
        return new SessionOptions(Duration.ofSeconds(10), null, DEFAULT_OWNER, Map.of(), null, null);
    }

    /** The file name of the program in a command line, or its main class, and the host; as many characters as are allowed. */
    static String owner(String command, String host) {
        String program = command.split(" ", 2)[0];
        String owner = program.substring(program.lastIndexOf('/') + 1) + "@" + host;
        String printable = owner.replaceAll("\\p{Cntrl}", "");
        int length = printable.length();
        while (printable.substring(0, length).getBytes(StandardCharsets.UTF_8).length > LONGEST_OWNER) {
            length = printable.offsetByCodePoints(length, -1);
        }
        return printable.substring(0, length);
    }

    /** The host's name, without a look-up that may take long. */
    private static String host() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        } catch (IOException notLinux) {
            return System.getenv().getOrDefault("COMPUTERNAME", System.getenv().getOrDefault("HOSTNAME", "localhost"));
        }
    }

    public SessionOptions ttl(Duration time) {
        return new SessionOptions(time, disconnectGrace, owner, metadata, id, renewWhile);
    }

    public SessionOptions disconnectGrace(@Nullable Duration grace) {
        return new SessionOptions(ttl, grace, owner, metadata, id, renewWhile);
    }

    public SessionOptions owner(String label) {
        return new SessionOptions(ttl, disconnectGrace, label, metadata, id, renewWhile);
    }

    public SessionOptions metadata(Map<String, String> labels) {
        return new SessionOptions(ttl, disconnectGrace, owner, labels, id, renewWhile);
    }

    public SessionOptions id(@Nullable String text) {
        return new SessionOptions(ttl, disconnectGrace, owner, metadata, text, renewWhile);
    }

    public SessionOptions renewWhile(@Nullable Progress progress) {
        return new SessionOptions(ttl, disconnectGrace, owner, metadata, id, progress);
    }

    DeclaredSession declared() {
        DeclaredSession.Builder declared = DeclaredSession.newBuilder()
                .setSessionId(String.valueOf(id))
                .setTtl(toWire(ttl))
                .setOwner(owner)
                .putAllMetadata(metadata);
        if (disconnectGrace != null) {
            declared.setDisconnectGrace(toWire(disconnectGrace));
        }
        return declared.build();
    }

    static Builder toWire(Duration duration) {
        return com.google.protobuf.Duration.newBuilder()
                .setSeconds(duration.getSeconds())
                .setNanos(duration.getNano());
    }
}
