package io.tenure.client;

import com.google.protobuf.Duration;
import com.google.protobuf.Timestamp;
import io.tenure.client.internal.Convert;
import io.tenure.client.v1.HoldRecord;
import java.time.Instant;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** From the contract's history to the nouns. */
final class Histories {
    private Histories() {}

    /** Nothing of what this version does not know. */
    static Stream<HistoryEntry> entry(io.tenure.client.v1.HistoryEntry entry) {
        return switch (entry.getKindCase()) {
            case HOLD -> Stream.of(hold(entry.getHold()));
            case LOSS ->
                Stream.of(new HistoryEntry.Loss(
                        entry.getLoss().getAfterRevision(),
                        entry.getLoss().getRevision(),
                        instant(entry.getLoss().hasTime(), entry.getLoss().getTime())));
            case KIND_NOT_SET -> Stream.empty();
        };
    }

    private static HistoryEntry.Hold hold(HoldRecord hold) {
        HistoryEntry.End end = hold.hasEndedTime()
                ? new HistoryEntry.End(
                        Convert.instant(hold.getEndedTime()),
                        Convert.endReason(hold.getEndReason()),
                        Convert.optional(hold.getOperator()),
                        Convert.optional(hold.getNote()))
                : null;
        return new HistoryEntry.Hold(
                hold.getClaimId(),
                hold.getNamesList(),
                hold.getToken(),
                hold.getSessionId(),
                hold.getOwner(),
                hold.getMetadataMap(),
                hold.getPriority(),
                instant(hold.hasQueuedTime(), hold.getQueuedTime()),
                instant(hold.hasGrantedTime(), hold.getGrantedTime()),
                duration(hold.hasWaited(), hold.getWaited()),
                duration(hold.hasHeld(), hold.getHeld()),
                duration(hold.hasLongestPause(), hold.getLongestPause()),
                duration(hold.hasSinceRenewal(), hold.getSinceRenewal()),
                duration(hold.hasTtl(), hold.getTtl()),
                end);
    }

    private static @Nullable Instant instant(boolean isThere, Timestamp time) {
        return isThere ? Convert.instant(time) : null;
    }

    private static java.time.@Nullable Duration duration(boolean isThere, Duration duration) {
        return isThere ? Convert.fromWire(duration) : null;
    }
}
