package io.tenure.client.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.tenure.client.LostReason;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class HoldPresenceTest {
    @Test
    void aHoldIsOverAsSoonAsItsSessionIsWhoeverHasBeenToldOfThat() {
        Clock clock = () -> 0;
        SessionPresence session = new SessionPresence(clock, 1_000_000_000, Validity.NO_GRACE, 0);
        List<HoldPresence> holds = new ArrayList<>();
        List<Boolean> valid = new ArrayList<>();
        // Told before the hold is.
        session.listen(() -> holds.forEach(hold -> valid.add(hold.isValid())));
        holds.add(new HoldPresence(session, List.of("report"), 7, null, clock));
        session.end(LostReason.of(LostReason.Kind.EXPIRED));
        assertThat(valid).containsExactly(false);
        assertThat(holds.get(0).lost()).isEqualTo(LostReason.of(LostReason.Kind.EXPIRED));
    }
}
