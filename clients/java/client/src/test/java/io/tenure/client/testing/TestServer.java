package io.tenure.client.testing;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A real server on free ports with a database of its own, which can be killed and started anew. */
public final class TestServer implements AutoCloseable {
    private static final int TRIES = 5;

    private final Path folder;
    private final int port;
    private final int adminPort;
    private final List<String> options;
    private Process process;

    private TestServer(List<String> options) throws IOException {
        this.options = options;
        this.folder = Files.createTempDirectory("tenure-java-");
        this.port = freePort();
        this.adminPort = freePort();
        this.process = launch();
    }

    /** Starts one, with these options: the program of the environment variable TENURED, or the one on the path. */
    public static TestServer start(String... options) throws IOException, InterruptedException {
        TestServer server = new TestServer(List.of(options));
        // Another process may have taken a port that was free.
        for (int tries = 1; !server.isListening() && tries < TRIES; tries++) {
            server = new TestServer(List.of(options));
        }
        return server;
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private Process launch() throws IOException {
        String program = System.getenv().getOrDefault("TENURED", "tenured");
        List<String> command = new ArrayList<>(List.of(
                program,
                "--store-url",
                "sqlite:" + folder.resolve("tenure.db"),
                "--listen",
                "127.0.0.1:" + port,
                "--admin-listen",
                "127.0.0.1:" + adminPort));
        command.addAll(options);
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(
                        ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()))
                .start();
    }

    /** Waits until it listens. False: it has ended instead. */
    private boolean isListening() throws InterruptedException {
        Eventually.holds("the server listens", () -> {
            try (Socket socket = new Socket()) {
                socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 100);
                return true;
            } catch (IOException notYet) {
                return !process.isAlive();
            }
        });
        return process.isAlive();
    }

    public String url() {
        return "http://127.0.0.1:" + port;
    }

    /** Where it speaks TLS, with the options for that. */
    public String secureUrl() {
        return "https://localhost:" + port;
    }

    /** Kills it. */
    public void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor(20, TimeUnit.SECONDS);
    }

    /** Starts it again, on the same port and database. */
    public void restart() throws IOException, InterruptedException {
        process = launch();
        if (!isListening()) {
            throw new IOException("the server did not start again: see " + folder.resolve("log"));
        }
    }

    /** Sends a signal to a process, such as STOP or CONT. */
    public static void signal(Process process, String name) throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-" + name, String.valueOf(process.pid()))
                .inheritIO()
                .start()
                .waitFor();
    }

    @Override
    public void close() throws InterruptedException {
        kill();
    }
}
