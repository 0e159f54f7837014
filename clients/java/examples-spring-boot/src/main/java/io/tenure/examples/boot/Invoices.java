package io.tenure.examples.boot;

import io.tenure.spring.boot.CurrentHold;
import io.tenure.spring.boot.DistributedLock;
import io.tenure.spring.boot.LeaderOnly;
import io.tenure.spring.boot.WhenBusy;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/**
 * One of several equal programs, of which one sends invoices: it writes what it does into a file that they share. Where another
 * leads, the same method does nothing; when that one dies, the next takes over.
 *
 * <p>{@code java -jar tenure-examples-spring-boot.jar --invoices.file=FILE --tenure.session.owner=NAME}
 */
@SpringBootApplication
@EnableScheduling
public class Invoices {
    /** Runs until it is stopped. */
    public static void main(String[] arguments) {
        SpringApplication.run(Invoices.class, arguments);
    }

    /** What is to be done by one program at a time. */
    @Component
    static class Sender {
        private final Path file;
        private final String owner;

        Sender(@Value("${invoices.file}") Path file, @Value("${tenure.session.owner}") String owner) {
            this.file = file;
            this.owner = owner;
        }

        // snippet: leader
        @Scheduled(fixedDelay = 20)
        @LeaderOnly("invoices")
        void send() throws IOException {
            long token = CurrentHold.get().token();
            write("begin " + owner + " " + token);
            write("end " + owner + " " + token);
        }
        // snippet end

        // snippet: skip
        /** By the copy that is first each time, in place of a leader. */
        @Scheduled(fixedDelay = 50)
        @DistributedLock(key = "'invoices-' + @sender.month()", waitAtMost = "0s", whenBusy = WhenBusy.SKIP)
        void sum() throws IOException {
            write("sum " + owner + " " + CurrentHold.get().token());
        }
        // snippet end

        /** The month whose sum is written. */
        public String month() {
            return "november";
        }

        private void write(String line) throws IOException {
            Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }
    }
}
