"""History: who held a lock."""

from dataclasses import dataclass
from datetime import datetime

from tenure import convert
from tenure.model import EndReason, Metadata
from tenure.v1 import history_pb2


@dataclass(frozen=True)
class HoldRecord:
    """A hold, from its grant to its end. What is no longer in history is None. Times are wall clocks of the servers that wrote
    them, for people; durations are seconds."""

    #: The revision of the event that created the claim.
    claim_id: int
    #: All names of the claim, in byte order.
    names: tuple[str, ...]
    token: int
    session_id: str
    owner: str
    metadata: Metadata
    priority: int
    #: When it was asked for.
    queued: datetime | None
    granted: datetime | None
    #: None: it lasts.
    ended: datetime | None
    #: How long the claim waited for the grant.
    waited: float | None
    #: How long it was held, or has been held until now.
    held: float | None
    #: The longest time without a renewal of the session during the hold. Close to the TTL: the holder was about to lose its
    #: locks. Told only by the server that takes the session's renewals.
    longest_pause: float | None
    #: For a hold that lasts: how long ago the session was renewed. Told only by the server that takes its renewals.
    since_renewal: float | None
    #: The TTL that the session was opened with.
    ttl: float | None
    #: Why it ended. None: it lasts.
    end_reason: EndReason | None
    operator: str | None
    note: str | None


@dataclass(frozen=True)
class HistoryLoss:
    """The database lost a part of the history, as by a failover to a copy that was behind. Holds of that time are missing, and one
    that lasted over it may have ended earlier than it says."""

    #: The last revision before the loss.
    after_revision: int
    #: The first revision after it.
    revision: int
    #: When it was noticed, by the wall clock of the server that did.
    time: datetime | None


#: Something in the history of a lock.
HistoryEntry = HoldRecord | HistoryLoss


def history_entry(told: history_pb2.HistoryEntry) -> HistoryEntry:
    """From the contract's message."""
    if told.HasField("loss"):
        loss = told.loss
        return HistoryLoss(loss.after_revision, loss.revision, convert.time_in(loss, "time"))
    hold = told.hold
    return HoldRecord(
        claim_id=hold.claim_id,
        names=tuple(hold.names),
        token=hold.token,
        session_id=hold.session_id,
        owner=hold.owner,
        metadata=dict(hold.metadata),
        priority=hold.priority,
        queued=convert.time_in(hold, "queued_time"),
        granted=convert.time_in(hold, "granted_time"),
        ended=convert.time_in(hold, "ended_time"),
        waited=convert.seconds_in(hold, "waited"),
        held=convert.seconds_in(hold, "held"),
        longest_pause=convert.seconds_in(hold, "longest_pause"),
        since_renewal=convert.seconds_in(hold, "since_renewal"),
        ttl=convert.seconds_in(hold, "ttl"),
        end_reason=convert.end_reason_if_any(hold),
        operator=hold.operator or None,
        note=hold.note or None,
    )
