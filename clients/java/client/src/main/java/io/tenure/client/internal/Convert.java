package io.tenure.client.internal;

import com.google.protobuf.Timestamp;
import io.tenure.client.BlockedClaim;
import io.tenure.client.Claim;
import io.tenure.client.EndReason;
import io.tenure.client.Group;
import io.tenure.client.GroupEvent;
import io.tenure.client.GroupMember;
import io.tenure.client.LockEvent;
import io.tenure.client.LockInfo;
import io.tenure.client.LockSettings;
import io.tenure.client.Mode;
import io.tenure.client.Refusal;
import io.tenure.client.SessionInfo;
import io.tenure.client.v1.Event;
import io.tenure.client.v1.EventType;
import io.tenure.client.v1.GroupEventType;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** From the contract's messages to the nouns, and back. */
public final class Convert {
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private Convert() {}

    public static com.google.protobuf.Duration toWire(Duration duration) {
        return com.google.protobuf.Duration.newBuilder()
                .setSeconds(duration.getSeconds())
                .setNanos(duration.getNano())
                .build();
    }

    public static com.google.protobuf.Duration toWire(long nanos) {
        return toWire(Duration.ofNanos(nanos));
    }

    public static Duration fromWire(com.google.protobuf.Duration duration) {
        return Duration.ofSeconds(duration.getSeconds(), duration.getNanos());
    }

    /** In nanoseconds. Saturates. */
    public static long nanos(com.google.protobuf.Duration duration) {
        return nanos(fromWire(duration));
    }

    /** In nanoseconds. Saturates. */
    public static long nanos(Duration duration) {
        return duration.getSeconds() >= Long.MAX_VALUE / NANOS_PER_SECOND ? Long.MAX_VALUE : duration.toNanos();
    }

    public static @Nullable String optional(String text) {
        return text.isEmpty() ? null : text;
    }

    public static Instant instant(Timestamp time) {
        return Instant.ofEpochSecond(time.getSeconds(), time.getNanos());
    }

    public static Refusal refusal(io.tenure.client.v1.Refusal refusal) {
        return new Refusal(refusal.getReason(), refusal.getMessage(), refusal.getMetadataMap());
    }

    /** Why something ended, by the word in a refusal's facts. */
    public static @Nullable EndReason endReason(Refusal refusal) {
        String word = refusal.fact("end_reason");
        if (word == null) {
            return null;
        }
        try {
            return EndReason.valueOf(word.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException later) {
            return EndReason.UNKNOWN;
        }
    }

    public static EndReason endReason(io.tenure.client.v1.EndReason reason) {
        return switch (reason) {
            case END_REASON_RELEASED -> EndReason.RELEASED;
            case END_REASON_EXPIRED -> EndReason.EXPIRED;
            case END_REASON_DISCONNECTED -> EndReason.DISCONNECTED;
            case END_REASON_CLOSED -> EndReason.CLOSED;
            case END_REASON_EVICTED -> EndReason.EVICTED;
            case END_REASON_TRANSFERRED -> EndReason.TRANSFERRED;
            case END_REASON_UNSPECIFIED, UNRECOGNIZED -> EndReason.UNKNOWN;
        };
    }

    private static @Nullable EndReason optional(io.tenure.client.v1.EndReason reason) {
        return reason == io.tenure.client.v1.EndReason.END_REASON_UNSPECIFIED ? null : endReason(reason);
    }

    public static Claim claim(io.tenure.client.v1.Claim claim) {
        Claim.State state =
                switch (claim.getState()) {
                    case CLAIM_STATE_WAITING -> Claim.State.WAITING;
                    case CLAIM_STATE_HELD -> Claim.State.HELD;
                    case CLAIM_STATE_LINGERING -> Claim.State.LINGERING;
                    case CLAIM_STATE_UNSPECIFIED, UNRECOGNIZED -> Claim.State.UNKNOWN;
                };
        Mode mode =
                switch (claim.getMode()) {
                    case MODE_UNSPECIFIED, MODE_EXCLUSIVE -> Mode.EXCLUSIVE;
                    case MODE_SHARED -> Mode.SHARED;
                    case MODE_PERMITS -> Mode.permits(claim.getPermits(), positive(claim.getLimit()));
                    case UNRECOGNIZED -> new Mode(Mode.Kind.UNKNOWN, 0, null);
                };
        Claim.PendingTransfer transfer = claim.hasTransfer()
                ? new Claim.PendingTransfer(
                        optional(claim.getTransfer().getToSessionId()),
                        fromWire(claim.getTransfer().getDrain()))
                : null;
        return new Claim(
                claim.getId(),
                claim.getNamesList(),
                state,
                claim.getToken(),
                claim.getSessionId(),
                claim.getOwner(),
                claim.getMetadataMap(),
                claim.getPriority(),
                fromWire(claim.getMinHold()),
                mode,
                transfer,
                claim.getDeadlockList());
    }

    private static @Nullable Integer positive(int limit) {
        return limit > 0 ? Integer.valueOf(limit) : null;
    }

    public static LockSettings settings(io.tenure.client.v1.LockSettings settings) {
        LockSettings.Preempt preempt = settings.hasPreempt()
                ? new LockSettings.Preempt(
                        fromWire(settings.getPreempt().getSettling()),
                        fromWire(settings.getPreempt().getDrain()))
                : null;
        return new LockSettings(positive(settings.getLimit()), preempt);
    }

    public static io.tenure.client.v1.LockSettings toWire(LockSettings settings) {
        io.tenure.client.v1.LockSettings.Builder message = io.tenure.client.v1.LockSettings.newBuilder();
        if (settings.limit() != null) {
            message.setLimit(settings.limit());
        }
        LockSettings.Preempt preempt = settings.preempt();
        if (preempt != null) {
            message.setPreempt(io.tenure.client.v1.Preempt.newBuilder()
                    .setSettling(toWire(preempt.settling()))
                    .setDrain(toWire(preempt.drain())));
        }
        return message.build();
    }

    public static LockInfo lock(io.tenure.client.v1.Lock lock) {
        return new LockInfo(
                lock.getName(),
                lock.getHoldersList().stream().map(Convert::claim).toList(),
                lock.getWaitersList().stream().map(Convert::claim).toList(),
                lock.getWaiterCount(),
                lock.getHolderCount(),
                positive(lock.getLimit()),
                settings(lock.getSettings()));
    }

    public static BlockedClaim blocked(io.tenure.client.v1.BlockedClaim blocked) {
        return new BlockedClaim(
                claim(blocked.getClaim()),
                blocked.getBlockedByList().stream().map(Convert::claim).toList(),
                blocked.getTruncated());
    }

    public static SessionInfo session(io.tenure.client.v1.Session session) {
        return new SessionInfo(
                session.getId(),
                session.getOpenedRevision(),
                fromWire(session.getTtl()),
                session.getOwner(),
                session.getMetadataMap(),
                session.getHome(),
                session.getClaimsList().stream().map(Convert::claim).toList(),
                session.hasRemaining() ? fromWire(session.getRemaining()) : null,
                session.hasDisconnectGrace() ? fromWire(session.getDisconnectGrace()) : null);
    }

    /** The events of each lock: of a claim to several there is one event in the contract. */
    public static Stream<LockEvent> events(Event event) {
        return event.getNamesList().stream().map(name -> event(event, name));
    }

    private static LockEvent event(Event event, String name) {
        return new LockEvent(
                event.getRevision(),
                name,
                kind(event.getType()),
                event.hasClaim() ? claim(event.getClaim()) : null,
                optional(event.getEndReason()),
                optional(event.getOperator()),
                optional(event.getNote()),
                event.getVacantNamesList().contains(name),
                event.hasTime() ? instant(event.getTime()) : null,
                event.hasPrevious() ? claim(event.getPrevious()) : null,
                event.getType() == EventType.EVENT_TYPE_CONFIGURED ? settings(event.getSettings()) : null);
    }

    private static LockEvent.Kind kind(EventType type) {
        return switch (type) {
            case EVENT_TYPE_QUEUED -> LockEvent.Kind.QUEUED;
            case EVENT_TYPE_GRANTED -> LockEvent.Kind.GRANTED;
            case EVENT_TYPE_LINGERING -> LockEvent.Kind.LINGERING;
            case EVENT_TYPE_ENDED -> LockEvent.Kind.ENDED;
            case EVENT_TYPE_TRANSFER_STARTED -> LockEvent.Kind.TRANSFER_STARTED;
            case EVENT_TYPE_TRANSFER_CANCELLED -> LockEvent.Kind.TRANSFER_CANCELLED;
            case EVENT_TYPE_TRANSFERRED -> LockEvent.Kind.TRANSFERRED;
            case EVENT_TYPE_UPDATED -> LockEvent.Kind.UPDATED;
            case EVENT_TYPE_CONFIGURED -> LockEvent.Kind.CONFIGURED;
            case EVENT_TYPE_UNSPECIFIED, UNRECOGNIZED -> LockEvent.Kind.UNKNOWN;
        };
    }

    public static Group group(io.tenure.client.v1.Group group) {
        Group.Leader leader = group.hasLeader()
                ? new Group.Leader(
                        group.getLeader().getMember(),
                        group.getLeader().getToken(),
                        group.getLeader().getSessionId(),
                        group.getLeader().getOwner())
                : null;
        return new Group(
                group.getName(),
                leader,
                group.getMembersList().stream().map(Convert::member).toList(),
                group.getMembershipRevision(),
                group.hasConfig() ? group.getConfig() : null,
                group.getConfigRevision(),
                group.getAssignmentsCurrent(),
                group.getAssignmentsRevision());
    }

    private static GroupMember member(io.tenure.client.v1.GroupMember member) {
        return new GroupMember(
                member.getNumber(),
                member.getSessionId(),
                member.getOwner(),
                member.getMetadataMap(),
                member.hasAssignment() ? member.getAssignment() : null);
    }

    public static GroupEvent groupEvent(io.tenure.client.v1.GroupEvent event) {
        return new GroupEvent(
                event.getRevision(),
                event.getGroup(),
                kind(event.getType()),
                event.hasMember() ? member(event.getMember()) : null,
                optional(event.getEndReason()),
                event.getLeader(),
                event.getToken(),
                event.hasConfig() ? event.getConfig() : null,
                event.hasTime() ? instant(event.getTime()) : null);
    }

    private static GroupEvent.Kind kind(GroupEventType type) {
        return switch (type) {
            case GROUP_EVENT_TYPE_JOINED -> GroupEvent.Kind.JOINED;
            case GROUP_EVENT_TYPE_LEFT -> GroupEvent.Kind.LEFT;
            case GROUP_EVENT_TYPE_CONFIGURED -> GroupEvent.Kind.CONFIGURED;
            case GROUP_EVENT_TYPE_ASSIGNED -> GroupEvent.Kind.ASSIGNED;
            case GROUP_EVENT_TYPE_UNSPECIFIED, UNRECOGNIZED -> GroupEvent.Kind.UNKNOWN;
        };
    }
}
