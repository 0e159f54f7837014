package io.tenure.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OptionsTest {
    private static void assertInvalid(ClientOptions options, String field) {
        assertThatThrownBy(() -> TenureClient.connect(options))
                .isInstanceOfSatisfying(TenureException.Invalid.class, invalid -> assertThat(invalid.field())
                        .isEqualTo(field));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a:0", "a:99999", "a:port"})
    void invalidPortIsRejectedLocally(String endpoint) {
        assertInvalid(ClientOptions.defaults().endpoints("127.0.0.1:1", endpoint), "endpoints");
    }

    @Test
    void timeoutsOfZeroAndInvalidNamespacesAreRejected() {
        assertInvalid(ClientOptions.defaults().connectTimeout(Duration.ZERO), "connect_timeout");
        assertInvalid(ClientOptions.defaults().callTimeout(Duration.ofMillis(-1)), "call_timeout");
        assertInvalid(ClientOptions.defaults().namespace("No Such!"), "namespace");
        assertInvalid(ClientOptions.defaults().namespace("n".repeat(64)), "namespace");
        assertInvalid(ClientOptions.defaults().endpoints(), "endpoints");
    }

    @ParameterizedTest
    @CsvSource({
        "/opt/app/worker.jar --fast,worker.jar@host",
        "worker.jar,worker.jar@host",
        "com.example.Main a/b,com.example.Main@host",
        "module/com.example.Main,com.example.Main@host",
    })
    void ownerIsTheProgramAndTheHost(String command, String owner) {
        assertThat(SessionOptions.owner(command, "host")).isEqualTo(owner);
    }

    @Test
    void ownerIsWithinItsBound() {
        String owner = SessionOptions.owner("\u00e9".repeat(200) + "\t", "host");
        assertThat(owner.getBytes(StandardCharsets.UTF_8)).hasSizeBetween(254, 255);
        assertThat(owner).isEqualTo("\u00e9".repeat(127));
        assertThat(SessionOptions.defaults().owner()).matches(".+@.+");
    }

    @Test
    void workStopsBeforeTheDrainIsOver() {
        long[][] drains = {{100, 80}, {1_000, 800}, {10_000, 9_000}, {60_000, 59_000}, {10, 0}};
        for (long[] drain : drains) {
            assertThat(Handoff.usable(drain[0] * 1_000_000)).isEqualTo(drain[1] * 1_000_000);
        }
    }

    @Test
    void progressWithinNoTimeIsRejected() {
        assertThatThrownBy(() -> Progress.within(Duration.ZERO)).isInstanceOf(TenureException.Invalid.class);
    }

    @Test
    void tickCountsForItsIntervalFromWhenItIsNeeded() {
        Progress progress = Progress.within(Duration.ofNanos(100));
        long ticked = Long.MAX_VALUE / 2;
        assertThat(progress.isStalled(ticked, ticked + 99)).isFalse();
        assertThat(progress.isStalled(ticked, ticked + 100)).isTrue();
    }
}
