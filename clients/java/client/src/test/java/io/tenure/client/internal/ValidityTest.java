package io.tenure.client.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.tenure.client.internal.Validity.Phase;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ValidityTest {
    private static long ms(long milliseconds) {
        return milliseconds * 1_000_000;
    }

    @Test
    void countsFromTheSendingAndNotFromTheAnswer() {
        Validity validity = new Validity(ms(1_200), Validity.NO_GRACE, 0);
        assertThat(validity.until()).isEqualTo(ms(1_200 - 12 - 60));
        validity.renewed(ms(1_200), ms(400), ms(700));
        assertThat(validity.until()).isEqualTo(ms(400 + 1_200 - 12 - 60));
    }

    @Test
    void goesThroughItsPhases() {
        Validity validity = new Validity(ms(1_200), Validity.NO_GRACE, 0);
        assertThat(validity.nextChange(0)).isEqualTo(ms(728));
        assertThat(validity.phase(ms(727))).isEqualTo(Phase.HEALTHY);
        assertThat(validity.phase(ms(728))).isEqualTo(Phase.AT_RISK);
        assertThat(validity.nextChange(ms(728))).isEqualTo(ms(1_128));
        assertThat(validity.phase(ms(1_127))).isEqualTo(Phase.AT_RISK);
        assertThat(validity.phase(ms(1_128))).isEqualTo(Phase.OVER);
        assertThat(validity.nextChange(ms(1_128))).isEqualTo(Clock.NEVER);
    }

    @Test
    void aLateAnswerRevivesNothing() {
        Validity validity = new Validity(ms(1_200), Validity.NO_GRACE, 0);
        // The process was paused: the renewal was sent in time, but its answer is read after the end.
        validity.renewed(ms(1_200), ms(1_000), ms(1_130));
        assertThat(validity.phase(ms(1_130))).isEqualTo(Phase.OVER);
        // Not even for a clock that is read late.
        assertThat(validity.phase(ms(1_000))).isEqualTo(Phase.OVER);
    }

    @ParameterizedTest
    @ValueSource(longs = {100, 500, 1_200, 10_000, 86_400_000})
    void aFailoverFitsIntoTheTtl(long milliseconds) {
        long ttl = ms(milliseconds);
        Validity validity = new Validity(ttl, Validity.NO_GRACE, 0);
        // Answered at once, then silence: the next renewal is sent, and waited for.
        long noticed = Validity.renewalPeriod(ttl) + Validity.silenceLimit(ttl);
        assertThat(validity.until() - noticed).isGreaterThanOrEqualTo(ttl / 4);
    }

    @Test
    void withAGraceItIsOverWhenNothingWasHeardForThatLong() {
        Validity validity = new Validity(ms(10_000), ms(300), 0);
        assertThat(validity.window()).isEqualTo(ms(300));
        assertThat(validity.until()).isEqualTo(ms(300 - 3 - 15));
        validity.renewed(ms(10_000), ms(100), ms(160));
        assertThat(validity.until()).isEqualTo(ms(100 + 282));
        assertThat(validity.phase(ms(281))).isEqualTo(Phase.HEALTHY);
        assertThat(validity.phase(ms(282))).isEqualTo(Phase.AT_RISK);
        assertThat(validity.phase(ms(382))).isEqualTo(Phase.OVER);
        validity.renewed(ms(10_000), ms(300), ms(383));
        assertThat(validity.phase(ms(383))).isEqualTo(Phase.OVER);
    }

    @Test
    void aGraceThatComesWithANewStreamIsInForceAtOnce() {
        Validity validity = new Validity(ms(10_000), Validity.NO_GRACE, 0);
        validity.attached(ms(10_000), ms(1_000), ms(50), ms(60));
        assertThat(validity.until()).isEqualTo(ms(50 + 1_000 - 10 - 50));
        validity.attached(ms(10_000), Validity.NO_GRACE, ms(100), ms(110));
        assertThat(validity.until()).isEqualTo(ms(100 + 10_000 - 100 - 500));
    }

    /** Whatever arrives when: what is called valid has not been given away, and what is over stays over. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void isNeverValidAfterTheServerMayHaveGivenItAway(long seed) {
        Random random = new Random(seed);
        for (int run = 0; run < 500; run++) {
            long ttl = ms(100 + random.nextInt(19_900));
            long grace = random.nextBoolean() ? Math.min(ms(100 + random.nextInt(19_900)), ttl) : Validity.NO_GRACE;
            // As early as it may: on a clock that runs as much faster as clocks may.
            long givenAwayAfter = (long) (Math.min(ttl, grace) / 1.01);
            Validity validity = new Validity(ttl, grace, 0);
            long lastReceived = 0;
            long now = 0;
            boolean wasOver = false;
            for (int step = 0; step < 40; step++) {
                long sent = now + ms(random.nextInt(8_000));
                now = sent + ms(random.nextInt(8_000));
                if (random.nextBoolean() && sent < lastReceived + givenAwayAfter) {
                    lastReceived = sent;
                    validity.renewed(ttl, sent, now);
                }
                boolean isOver = validity.phase(now) == Phase.OVER;
                if (!isOver) {
                    assertThat(wasOver).isFalse();
                    assertThat(now).isLessThan(lastReceived + givenAwayAfter);
                    assertThat(validity.until()).isLessThan(lastReceived + givenAwayAfter);
                    assertThat(validity.nextChange(now)).isGreaterThan(now);
                }
                wasOver = isOver;
            }
        }
    }
}
