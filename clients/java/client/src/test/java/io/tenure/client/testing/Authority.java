package io.tenure.client.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** An authority that signs certificates for a test, in a folder of its own. Needs the program {@code openssl}. */
public final class Authority {
    /** Where a certificate and its key stand. */
    public record Certified(Path cert, Path key) {}

    private final Path folder;

    /** A new one, of this name. */
    public Authority(String name) throws IOException, InterruptedException {
        folder = Files.createTempDirectory("tenure-authority-");
        openssl(Stream.of(
                List.of("req", "-x509", "-subj", "/CN=" + name, "-days", "2"),
                List.of("-addext", "keyUsage=keyCertSign,digitalSignature"),
                newKey(key()),
                List.of("-out", cert().toString())));
    }

    /** Its own certificate. */
    public Path cert() {
        return folder.resolve("ca.pem");
    }

    private Path key() {
        return folder.resolve("ca.key");
    }

    /** A certificate with this name, such as {@code DNS:localhost}, in files that begin with {@code file}. */
    public Certified certify(String file, String name) throws IOException, InterruptedException {
        Certified files = new Certified(folder.resolve(file + ".crt"), folder.resolve(file + ".key"));
        openssl(Stream.of(
                List.of("req", "-x509", "-subj", "/CN=" + file, "-days", "2"),
                List.of("-CA", cert().toString(), "-CAkey", key().toString()),
                List.of("-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=" + name),
                newKey(files.key()),
                List.of("-out", files.cert().toString())));
        return files;
    }

    private static List<String> newKey(Path file) {
        return List.of("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-keyout", file.toString());
    }

    private void openssl(Stream<List<String>> arguments) throws IOException, InterruptedException {
        Path log = folder.resolve("log");
        List<String> command = Stream.concat(Stream.of("openssl"), arguments.flatMap(List::stream))
                .toList();
        int result = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start()
                .waitFor();
        if (result != 0) {
            throw new IOException(command + ": " + Files.readString(log));
        }
    }
}
