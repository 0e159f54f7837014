package io.tenure.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.tenure.client.Guard;
import io.tenure.client.TenureClient;
import io.tenure.client.testing.TestServer;
import io.tenure.examples.guides.FromCurator;
import io.tenure.examples.guides.FromRedisson;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Examples, run as the programs that they are. */
@Timeout(60)
class ExamplesTest {
    private final List<Process> programs = new ArrayList<>();
    private TestServer server;

    @BeforeEach
    void start() throws Exception {
        server = TestServer.start();
    }

    @AfterEach
    void stop() throws Exception {
        programs.forEach(Process::destroyForcibly);
        server.close();
    }

    private final class Example {
        private final Process program;
        private final BufferedReader output;

        Example(Class<?> main, String... arguments) throws IOException {
            List<String> command = new ArrayList<>(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-XX:TieredStopAtLevel=1",
                    "-cp",
                    System.getProperty("java.class.path"),
                    main.getName()));
            command.addAll(List.of(arguments));
            ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
            builder.environment().put("TENURE_ENDPOINTS", server.url());
            builder.environment().remove("TENURE_NAMESPACE");
            program = builder.start();
            programs.add(program);
            output = program.inputReader(StandardCharsets.UTF_8);
        }

        /** Reads on to the next line that begins so. */
        String says(String begin) throws IOException {
            String line = output.readLine();
            while (line != null && !line.startsWith(begin)) {
                line = output.readLine();
            }
            assertThat(line).as("what begins with " + begin).isNotNull();
            return line;
        }

        void isOver() throws InterruptedException {
            assertThat(program.waitFor()).isZero();
        }
    }

    @Test
    void basicHoldsALock() throws Exception {
        Example basic = new Example(Basic.class);
        basic.says("acquired token=");
        assertThat(basic.says("valid")).isEqualTo("valid=true");
        basic.says("released");
        basic.isOver();
    }

    @Test
    void tryLockRunsOnOneHostOnly() throws Exception {
        Example one = new Example(TryLock.class, "one");
        one.says("running token=");
        one.says("done");
        one.isOver();
        assertThat(new Example(TryLock.class, "two").says("busy")).isEqualTo("busy holder=one");
    }

    @Test
    void leaderLoopContinuesElsewhereWhenItIsKilled() throws Exception {
        Example first = new Example(LeaderLoop.class, "first");
        String work = first.says("work token=");
        Example second = new Example(LeaderLoop.class, "second");
        second.says("candidate second");
        first.program.destroyForcibly();
        assertThat(second.says("work token=")).isNotEqualTo(work);
    }

    @Test
    void watchPrintsHolders() throws Exception {
        Example watch = new Example(Watch.class, "jobs/");
        watch.says("snapshot revision=");
        try (TenureClient client = TenureClient.connect(server.url());
                Guard guard = client.lock("jobs/1").owner("ann").acquire()) {
            assertThat(watch.says("granted")).contains("name=jobs/1", "owner=ann", "revision=" + guard.token());
        }
        assertThat(watch.says("ended")).contains("owner=ann released vacant");
    }

    @Test
    void groupThroughputSharesATotal() throws Exception {
        try (TenureClient client = TenureClient.connect(server.url())) {
            client.configureGroup("throughput", "1000", null);
            Example first = new Example(GroupThroughput.class, "first");
            assertThat(first.says("share")).isEqualTo("share=1000 of=1000 members=1 leader");
            Example second = new Example(GroupThroughput.class, "second");
            assertThat(second.says("share")).isEqualTo("share=500 of=1000 members=2 member");
            first.program.destroyForcibly();
            assertThat(second.says("share=1000")).isEqualTo("share=1000 of=1000 members=1 leader");
        }
    }

    @Test
    void fencedWriteRejectsTheOldHolder(@TempDir Path folder) throws Exception {
        Example write = new Example(FencedWrite.class, folder.resolve("work.db").toString());
        String first = write.says("acquired token=").substring("acquired token=".length());
        String next = write.says("acquired token=").substring("acquired token=".length());
        assertThat(write.says("refused")).isEqualTo("refused token=" + first + " highest=" + next);
        write.isOver();
    }

    @Test
    void guideForRedissonRuns() throws Exception {
        Example guide = new Example(FromRedisson.class);
        guide.says("under the lock");
        guide.says("under the lock, token=");
        assertThat(guide.says("in time")).isEqualTo("in time, valid=true");
        assertThat(guide.says("two permits")).isEqualTo("two permits, and no third=false");
        assertThat(guide.says("read")).isEqualTo("read, and may write=false");
        assertThat(guide.says("both")).isEqualTo("both=[accounts, ledger]");
        assertThat(guide.says("mine")).isEqualTo("mine=true held=true");
        assertThat(guide.says("held")).isEqualTo("held=false");
        guide.isOver();
    }

    @Test
    void guideForCuratorRuns() throws Exception {
        Example guide = new Example(FromCurator.class);
        guide.says("leader, token=");
        assertThat(guide.says("who")).isEqualTo("who leads=me");
        guide.says("not leader any more");
        guide.says("under the lock");
        assertThat(guide.says("held")).isEqualTo("held=true");
        assertThat(guide.says("begins")).isEqualTo("begins with a snapshot=true");
        guide.isOver();

        Example first = new Example(FromCurator.class, "lead");
        String serving = first.says("serving token=");
        Example second = new Example(FromCurator.class, "lead");
        first.program.destroyForcibly();
        assertThat(second.says("serving token=")).isNotEqualTo(serving);
    }
}
