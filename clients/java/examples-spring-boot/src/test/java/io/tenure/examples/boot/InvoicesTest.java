package io.tenure.examples.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.tenure.client.TenureClient;
import io.tenure.client.testing.Eventually;
import io.tenure.client.testing.TestServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Three programs that do one work. */
@Timeout(180)
class InvoicesTest {
    @TempDir
    private Path folder;

    private TestServer server;
    private final Map<String, Process> programs = new HashMap<>();

    @BeforeEach
    void start() throws Exception {
        server = TestServer.start();
    }

    @AfterEach
    void stop() throws Exception {
        programs.values().forEach(Process::destroyForcibly);
        server.close();
    }

    private void start(String name) throws IOException {
        ProcessBuilder program = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                Invoices.class.getName(),
                "--invoices.file=" + file(),
                "--tenure.session.owner=" + name);
        program.environment().put("TENURE_ENDPOINTS", server.url());
        program.environment().remove("TENURE_NAMESPACE");
        programs.put(
                name,
                program.redirectErrorStream(true)
                        .redirectOutput(folder.resolve(name + ".log").toFile())
                        .start());
    }

    private Path file() {
        return folder.resolve("invoices");
    }

    /** What one program wrote: its name, and the token under which it did. */
    private record Line(String what, String name, long token) {}

    private List<Line> lines(String... what) throws IOException {
        if (!Files.exists(file())) {
            return List.of();
        }
        // The last line may be half written.
        String text = Files.readString(file());
        return text.substring(0, text.lastIndexOf('\n') + 1)
                .lines()
                .map(line -> line.split(" "))
                .map(words -> new Line(words[0], words[1], Long.parseLong(words[2])))
                .filter(line -> List.of(what).contains(line.what()))
                .toList();
    }

    private String awaitLeader(long above) throws Exception {
        Eventually.holds("there is a leader with a token above " + above, () -> lines("begin").stream()
                .anyMatch(line -> line.token() > above));
        return lines("begin").stream()
                .filter(line -> line.token() > above)
                .findFirst()
                .orElseThrow()
                .name();
    }

    /** Of who began last. Read once: more may be written at any time. */
    private long lastToken() throws IOException {
        List<Line> begun = lines("begin");
        return begun.get(begun.size() - 1).token();
    }

    @Test
    void oneOfThreeWorksAtATimeAndAnotherTakesOverFromAKilledOne() throws Exception {
        for (String name : List.of("ann", "bob", "eve")) {
            start(name);
        }
        try (TenureClient client = TenureClient.connect(server.url())) {
            Eventually.holds("all take part", () -> client.getLock("invoices").getWaitersCount() == 2);
        }
        String first = awaitLeader(0);
        long last = lastToken();
        programs.get(first).destroyForcibly().waitFor();
        String second = awaitLeader(last);
        assertThat(second).isNotEqualTo(first);
        last = lastToken();
        programs.get(second).destroyForcibly().waitFor();
        assertThat(awaitLeader(last)).isNotIn(first, second);

        // Only a program that was killed leaves something begun, and none begins while another is at it.
        List<Line> lines = lines("begin", "end");
        for (int place = 1; place < lines.size(); place++) {
            Line before = lines.get(place - 1);
            Line line = lines.get(place);
            assertThat(line.token()).isGreaterThanOrEqualTo(before.token());
            boolean isNext = line.what().equals("end") && before.equals(new Line("begin", line.name(), line.token()));
            boolean isFirst =
                    line.what().equals("begin") && (before.what().equals("end") || line.token() > before.token());
            assertThat(isNext || isFirst).as("%s after %s", line, before).isTrue();
        }
        assertThat(lines("sum")).extracting(Line::token).isSorted();
    }
}
