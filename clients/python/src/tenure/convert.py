"""From the contract's messages to the nouns, and back."""

from collections.abc import Iterable
from datetime import datetime, timezone
from enum import Enum
from typing import TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from tenure import model
from tenure.clock import SECOND
from tenure.errors import Refusal
from tenure.v1 import group_pb2, lock_pb2, session_pb2, watch_pb2

K = TypeVar("K", bound=Enum)


def to_wire(nanoseconds: int) -> Duration:
    """A duration for the wire."""
    return Duration(seconds=nanoseconds // SECOND, nanos=nanoseconds % SECOND)


def from_wire(duration: Duration) -> int:
    """A duration from the wire, in nanoseconds: zero if it is negative."""
    return max(duration.seconds * SECOND + duration.nanos, 0)


def seconds_in(message: Message, field: str) -> float | None:
    """A duration for callers, if it is set."""
    return from_wire(getattr(message, field)) / SECOND if message.HasField(field) else None


def time_in(message: Message, field: str) -> datetime | None:
    """A wall clock's time for callers, if it is set."""
    if not message.HasField(field):
        return None
    time: Timestamp = getattr(message, field)
    return time.ToDatetime(tzinfo=timezone.utc)


def kind_in(message: Message, field: str, prefix: str, kinds: type[K]) -> K:
    """What an enumeration of the contract is called here; what this version does not know is unknown."""
    number = getattr(message, field)
    enum = message.DESCRIPTOR.fields_by_name[field].enum_type
    named = enum.values_by_number.get(number) if enum else None
    word = named.name.removeprefix(prefix).lower() if named else ""
    return kinds(word) if word in kinds._value2member_map_ else kinds("unknown")


def end_reason(message: Message, field: str = "reason") -> model.EndReason:
    """Why something ended."""
    return kind_in(message, field, "END_REASON_", model.EndReason)


def end_reason_if_any(message: Message) -> model.EndReason | None:
    return end_reason(message, "end_reason") if message.end_reason else None  # type: ignore[attr-defined]


def refusal(refused: session_pb2.Refusal) -> Refusal:
    return Refusal(refused.reason, refused.message, dict(refused.metadata))


def claim(told: session_pb2.Claim) -> model.Claim:
    mode = kind_in(told, "mode", "MODE_", model.Mode) if told.mode else model.Mode.EXCLUSIVE
    transfer = None
    if told.HasField("transfer"):
        pending = told.transfer
        transfer = model.PendingTransfer(pending.to_session_id or None, from_wire(pending.drain) / SECOND)
    return model.Claim(
        id=told.id,
        names=tuple(told.names),
        state=kind_in(told, "state", "CLAIM_STATE_", model.ClaimState),
        token=told.token or None,
        session_id=told.session_id,
        owner=told.owner,
        metadata=dict(told.metadata),
        priority=told.priority,
        min_hold=seconds_in(told, "min_hold") or 0.0,
        mode=mode,
        permits=told.permits,
        limit=told.limit or None,
        transfer=transfer,
        deadlock=tuple(told.deadlock),
    )


def claims(told: Iterable[session_pb2.Claim]) -> tuple[model.Claim, ...]:
    return tuple(claim(one) for one in told)


def claim_in(message: Message, field: str) -> model.Claim | None:
    return claim(getattr(message, field)) if message.HasField(field) else None


def settings(told: lock_pb2.LockSettings) -> model.LockSettings:
    preempt = None
    if told.HasField("preempt"):
        settling, drain = (seconds_in(told.preempt, field) or 0.0 for field in ("settling", "drain"))
        preempt = model.Preempt(settling, drain)
    return model.LockSettings(told.limit or None, preempt)


def settings_to_wire(wanted: model.LockSettings) -> lock_pb2.LockSettings:
    told = lock_pb2.LockSettings(limit=wanted.limit or 0)
    if wanted.preempt is not None:
        told.preempt.settling.CopyFrom(to_wire(round(wanted.preempt.settling * SECOND)))
        told.preempt.drain.CopyFrom(to_wire(round(wanted.preempt.drain * SECOND)))
    return told


def lock(told: lock_pb2.Lock) -> model.Lock:
    return model.Lock(
        name=told.name,
        holders=claims(told.holders),
        waiters=claims(told.waiters),
        waiter_count=told.waiter_count,
        holder_count=told.holder_count,
        limit=told.limit or None,
        settings=settings(told.settings),
    )


def session(told: session_pb2.Session) -> model.SessionInfo:
    return model.SessionInfo(
        id=told.id,
        opened_revision=told.opened_revision,
        ttl=seconds_in(told, "ttl") or 0.0,
        owner=told.owner,
        metadata=dict(told.metadata),
        home=told.home,
        claims=claims(told.claims),
        remaining=seconds_in(told, "remaining"),
        disconnect_grace=seconds_in(told, "disconnect_grace"),
    )


def events(told: watch_pb2.Event) -> list[model.Event]:
    """What the contract's event says, lock by lock."""
    return [_event(told, name) for name in told.names]


def _event(told: watch_pb2.Event, name: str) -> model.Event:
    kind = kind_in(told, "type", "EVENT_TYPE_", model.EventKind)
    return model.Event(
        revision=told.revision,
        name=name,
        kind=kind,
        claim=claim_in(told, "claim"),
        end_reason=end_reason_if_any(told),
        operator=told.operator or None,
        note=told.note or None,
        vacant=name in told.vacant_names,
        time=time_in(told, "time"),
        previous=claim_in(told, "previous"),
        settings=settings(told.settings) if kind == model.EventKind.CONFIGURED else None,
    )


def member(told: group_pb2.GroupMember) -> model.GroupMember:
    return model.GroupMember(
        number=told.number,
        session_id=told.session_id,
        owner=told.owner,
        metadata=dict(told.metadata),
        assignment=told.assignment if told.HasField("assignment") else None,
    )


def group(told: group_pb2.Group) -> model.Group:
    leader = None
    if told.HasField("leader"):
        leader = model.GroupLeader(told.leader.member, told.leader.token, told.leader.session_id, told.leader.owner)
    return model.Group(
        name=told.name,
        leader=leader,
        members=tuple(member(one) for one in told.members),
        membership_revision=told.membership_revision,
        config=told.config if told.HasField("config") else None,
        config_revision=told.config_revision,
        assignments_current=told.assignments_current,
        assignments_revision=told.assignments_revision,
    )


def group_event(told: watch_pb2.GroupEvent) -> model.GroupEvent:
    return model.GroupEvent(
        revision=told.revision,
        group=told.group,
        kind=kind_in(told, "type", "GROUP_EVENT_TYPE_", model.GroupEventKind),
        member=member(told.member) if told.HasField("member") else None,
        end_reason=end_reason_if_any(told),
        leader=told.leader or None,
        token=told.token or None,
        config=told.config if told.HasField("config") else None,
        time=time_in(told, "time"),
    )
