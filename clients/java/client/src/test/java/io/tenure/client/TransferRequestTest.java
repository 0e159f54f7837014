package io.tenure.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TransferRequestTest {
    @ParameterizedTest
    @CsvSource({"100, 80", "1000, 800", "10000, 9000", "60000, 59000"})
    void theWorkStopsBeforeTheDrainIsOver(long drain, long left) {
        assertThat(TransferRequest.mayGoOn(Duration.ofMillis(drain))).isEqualTo(Duration.ofMillis(left));
    }
}
