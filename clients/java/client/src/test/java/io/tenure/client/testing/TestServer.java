package io.tenure.client.testing;

import java.io.IOException;
import java.net.BindException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** A real server on a free port with a database of its own, which can be killed and started anew. */
public final class TestServer implements AutoCloseable {
    /** Below the range of ephemeral ports, so that no outgoing connection takes the port of a server that is stopped. */
    private static final int FIRST_PORT = 10_000;

    private static final int PORTS = 10_000;
    /** Sockets, which the garbage collector would close. */
    private static final Queue<DatagramSocket> CLAIMS = new ConcurrentLinkedQueue<>();

    private final Path folder;
    private final int port;
    private final List<String> options;
    private Process process;

    private TestServer(List<String> options) throws IOException {
        this.options = options;
        this.folder = Files.createTempDirectory("tenure-java-");
        this.port = freePort();
        this.process = launch();
    }

    /** Starts one, with these options: the program of the environment variable TENURED, or the one on the path. */
    public static TestServer start(String... options) throws IOException, InterruptedException {
        TestServer server = new TestServer(List.of(options));
        server.awaitListening();
        return server;
    }

    /**
     * A port without a listener. Until this process ends, no other test gets it: the UDP port of the same number is in use.
     */
    private static int freePort() throws IOException {
        for (int tries = 0; tries < PORTS; tries++) {
            int port = FIRST_PORT + ThreadLocalRandom.current().nextInt(PORTS);
            try {
                CLAIMS.add(new DatagramSocket(port, InetAddress.getLoopbackAddress()));
                new ServerSocket(port, 1, InetAddress.getLoopbackAddress()).close();
                return port;
            } catch (BindException taken) {
                // Another one.
            }
        }
        throw new IOException("no port is free");
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
                "127.0.0.1:0"));
        command.addAll(options);
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(
                        ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()))
                .start();
    }

    private void awaitListening() throws IOException, InterruptedException {
        Eventually.holds("the server listens, or has ended", () -> {
            try (Socket socket = new Socket()) {
                socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 100);
                return true;
            } catch (IOException notYet) {
                return !process.isAlive();
            }
        });
        if (!process.isAlive()) {
            throw new IOException("the server did not start: see " + folder.resolve("log"));
        }
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
        awaitListening();
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
