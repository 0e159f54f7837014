package io.tenure.client.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class ClockTest {
    @Test
    void clockDoesNotRunBackwardsAndKeepsUpWithTheMonotonicOne() {
        long start = Clock.now();
        long nanos = System.nanoTime();
        long before = start;
        while (System.nanoTime() - nanos < Duration.ofMillis(30).toNanos()) {
            long now = Clock.now();
            assertThat(now).isGreaterThanOrEqualTo(before);
            before = now;
        }
        assertThat(Clock.now() - start)
                .isGreaterThanOrEqualTo(Duration.ofMillis(30).toNanos());
    }

    @Test
    void uptimeIsReadInHundredths() {
        assertThat(Clock.parse("12345.67 890.12\n")).isEqualTo(12_345_670_000_000L);
        assertThatThrownBy(() -> Clock.parse("")).isInstanceOf(NumberFormatException.class);
    }

    @Test
    void pausesGrowWithinTheirBounds() {
        Backoff backoff = new Backoff(Duration.ofNanos(1_000), Duration.ofNanos(16_000));
        long[] pauses = LongStream.generate(backoff::next).limit(40).toArray();
        assertThat(pauses[0]).isBetween(500L, 1_000L);
        assertThat(pauses[1]).isBetween(1_000L, 2_000L);
        assertThat(LongStream.of(pauses).skip(20)).allMatch(pause -> pause >= 8_000 && pause <= 16_000);
        backoff.reset();
        assertThat(backoff.next()).isLessThanOrEqualTo(1_000);
    }
}
