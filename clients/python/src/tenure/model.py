"""The nouns that answers are made of."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Literal

#: Free labels on a session or a claim. At most 4096 bytes in all, keys and values together.
Metadata = dict[str, str]


class EndReason(str, Enum):
    """Why a claim or a session ended."""

    #: The holder released it, or the waiter gave up.
    RELEASED = "released"
    #: The session's TTL passed without a renewal.
    EXPIRED = "expired"
    #: The session's stream broke, or nobody was there to receive a grant.
    DISCONNECTED = "disconnected"
    #: The client closed the session.
    CLOSED = "closed"
    #: An operator ended it.
    EVICTED = "evicted"
    #: It was handed to another waiter as planned.
    TRANSFERRED = "transferred"
    #: A reason that this version does not know.
    UNKNOWN = "unknown"

    @classmethod
    def parse(cls, word: str) -> "EndReason":
        """The reason of this word."""
        return cls(word) if word in cls._value2member_map_ else cls.UNKNOWN


class Mode(str, Enum):
    """With whom a claim can share its locks."""

    #: With nobody.
    EXCLUSIVE = "exclusive"
    #: With other shared claims.
    SHARED = "shared"
    #: With other claims to permits, as long as no more than the limit are out.
    PERMITS = "permits"
    #: A mode that this version does not know.
    UNKNOWN = "unknown"


class ClaimState(str, Enum):
    """Where a claim stands."""

    #: In the queue.
    WAITING = "waiting"
    #: Granted: its session holds the locks.
    HELD = "held"
    #: Released before its minimum hold was over: nobody holds the locks, and nobody is granted them yet.
    LINGERING = "lingering"
    #: A state that this version does not know.
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class PendingTransfer:
    """A handoff that a holder has been asked for and has not confirmed yet."""

    #: The session that is to hold next. None: whoever is first in the queue then.
    to: str | None
    #: For how many seconds the holder may go on, counted from when it was asked.
    drain: float


@dataclass(frozen=True)
class Claim:
    """One session's stake in one or more locks at once."""

    #: The revision of the event that created it. 0 if it is not known here.
    id: int
    #: The locks that are claimed, in byte order.
    names: tuple[str, ...]
    state: ClaimState
    #: The fencing token, once granted.
    token: int | None
    session_id: str
    #: The session's owner label.
    owner: str
    metadata: Metadata
    #: Higher goes first among waiters.
    priority: int
    #: For so many seconds after the grant nobody is granted these locks again. 0: no minimum.
    min_hold: float
    mode: Mode
    #: How many permits of each lock. 0 unless the mode is permits.
    permits: int = 0
    #: The lock's limit when the claim was made.
    limit: int | None = None
    #: The handoff that its holder has been asked for.
    transfer: PendingTransfer | None = None
    #: The sessions that wait for each other in a circle, this one first. Empty: none, or not known.
    deadlock: tuple[str, ...] = ()


@dataclass(frozen=True)
class Busy:
    """Somebody else has the locks. Is false, so that `if guard := lock.try_acquire():` does what it says."""

    #: Who holds, lingers on, or waits ahead for the first of the names that was not free.
    holder: Claim | None

    def __bool__(self) -> Literal[False]:
        return False


@dataclass(frozen=True)
class Preempt:
    """How a better candidate is handed a lock."""

    #: For how many seconds it must have waited: at most 24 h.
    settling: float = 10.0
    #: For how many seconds the holder may go on, to stop its work: 0.1 to 3600.
    drain: float = 10.0


@dataclass(frozen=True)
class LockSettings:
    """What an operator sets on a lock."""

    #: How many permits may be out at once: 1 to 1,000,000. None: what the first of the claims that are there says.
    limit: int | None = None
    #: Whether a waiter of higher priority is handed the lock by the holder. None: it waits for its turn.
    preempt: Preempt | None = None


@dataclass(frozen=True)
class Lock:
    """A name that sessions hold or wait for."""

    name: str
    #: Who holds it, or lingers on it: at most the first 100.
    holders: tuple[Claim, ...] = ()
    #: Who waits, in the order in which they will be served: at most the first 100.
    waiters: tuple[Claim, ...] = ()
    #: How many wait in all.
    waiter_count: int = 0
    #: How many hold it in all.
    holder_count: int = 0
    #: How many permits may be out at once, if anybody has said.
    limit: int | None = None
    settings: LockSettings = field(default_factory=LockSettings)

    @property
    def holder(self) -> Claim | None:
        """The first claim that holds it now. A claim that only lingers is not held by anybody."""
        return next((claim for claim in self.holders if claim.state == ClaimState.HELD), None)


@dataclass(frozen=True)
class BlockedClaim:
    """A claim that waits."""

    #: Its `deadlock` says whether it waits in vain.
    claim: Claim
    #: Those that it waits for: of each of its locks, the waiter just before it, or the holders in its way if it is first.
    blocked_by: tuple[Claim, ...]
    #: Whether it waits for more claims than the server lists.
    truncated: bool


@dataclass(frozen=True)
class SessionInfo:
    """An open session, as the server sees it."""

    id: str
    #: The revision of the event that opened it.
    opened_revision: int
    #: How many seconds it lives without a renewal.
    ttl: float
    owner: str
    metadata: Metadata
    #: The server that takes its renewals.
    home: int
    #: What it holds and waits for, in the order in which it was asked for.
    claims: tuple[Claim, ...]
    #: How many seconds it lives on, at least, if its stream does. Known only if the answering server is its home.
    remaining: float | None
    #: How many seconds it outlives its stream. None: until its TTL has passed.
    disconnect_grace: float | None


class EventKind(str, Enum):
    """What can happen to a lock."""

    QUEUED = "queued"
    GRANTED = "granted"
    #: A hold was released before its minimum hold was over.
    LINGERING = "lingering"
    #: A claim ended: the hold is over, or the waiter left.
    ENDED = "ended"
    #: The holder was asked to hand over. It holds on until it confirms.
    TRANSFER_STARTED = "transfer_started"
    #: The holder did not confirm in time. It holds on.
    TRANSFER_CANCELLED = "transfer_cancelled"
    #: The hold was handed over in one step: `previous` ended and `claim` was granted.
    TRANSFERRED = "transferred"
    #: The labels of a hold were replaced.
    UPDATED = "updated"
    #: An operator set something on the lock.
    CONFIGURED = "configured"
    #: A kind that this version does not know.
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Event:
    """Something that happened to one lock."""

    #: The namespace's revision that this event made.
    revision: int
    name: str
    kind: EventKind
    #: Whose claim it happened to.
    claim: Claim | None
    #: Why the claim ended, if it did.
    end_reason: EndReason | None
    operator: str | None
    note: str | None
    #: Whether nobody holds the lock any more.
    vacant: bool
    #: The wall clock of the server that wrote it, for people.
    time: datetime | None
    #: The hold that ended, if it was handed over.
    previous: Claim | None
    #: What is set on the lock from now on, if that is what happened.
    settings: LockSettings | None


#: What is assigned to each member of a group, by the members' numbers.
Assignments = dict[int, str]


@dataclass(frozen=True)
class GroupLeader:
    """Who leads a group."""

    #: The leader's number.
    member: int
    #: Greater than that of every leader before.
    token: int
    session_id: str
    owner: str


@dataclass(frozen=True)
class GroupMember:
    """One session's membership."""

    #: Rises in order of joining.
    number: int
    session_id: str
    owner: str
    metadata: Metadata
    #: What the leader assigned to it last. None: nothing since it joined.
    assignment: str | None


@dataclass(frozen=True)
class Group:
    """A named set of members with a leader, one shared config value and an assignment for each member."""

    name: str
    #: The member that has been there longest. None without members.
    leader: GroupLeader | None = None
    #: In order of joining.
    members: tuple[GroupMember, ...] = ()
    #: The revision of the last event by which a member came or went; 0 if none ever did.
    membership_revision: int = 0
    config: str | None = None
    #: The revision of the event that set the config; 0 without one.
    config_revision: int = 0
    #: Whether the assignments are those for these members and this config.
    assignments_current: bool = False
    #: The revision of the event of the last assignments; 0 if there were none.
    assignments_revision: int = 0

    def member(self, number: int) -> GroupMember | None:
        """The member of this number."""
        return next((member for member in self.members if member.number == number), None)

    def assign(self, value: Callable[[int, GroupMember], str]) -> Assignments:
        """Assignments for all members: what `value` says of each, given its place in the order of joining, from 0."""
        return {member.number: value(place, member) for place, member in enumerate(self.members)}


class GroupEventKind(str, Enum):
    """What can happen to a group."""

    JOINED = "joined"
    LEFT = "left"
    #: The config was set or cleared.
    CONFIGURED = "configured"
    #: The leader assigned something to every member.
    ASSIGNED = "assigned"
    #: A kind that this version does not know.
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class GroupEvent:
    """Something that happened to one group."""

    #: The namespace's revision that this event made.
    revision: int
    group: str
    kind: GroupEventKind
    #: The member that joined or left.
    member: GroupMember | None
    #: Why the member left, if it did.
    end_reason: EndReason | None
    #: The number of the member that leads after this event. Not told of a config.
    leader: int | None
    #: The leader's token. Not told of a config.
    token: int | None
    #: The config that was set. None if it was cleared.
    config: str | None
    #: The wall clock of the server that wrote it, for people.
    time: datetime | None


class HistoryGoneCause(str, Enum):
    """Why history is gone."""

    #: It was dropped after the configured time.
    COMPACTED = "compacted"
    #: The database lost it: a failover to a copy that was behind, or a restore.
    LOST = "lost"
    #: A cause that this version does not know.
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Snapshot:
    """Everything that is watched, as it is at one revision. Comes first unless the watch was resumed, and after `HistoryGone`."""

    #: The locks that are held or waited for, and those watched by name even if they are idle.
    locks: tuple[Lock, ...]
    #: The groups that are watched, even if they are empty.
    groups: tuple[Group, ...]
    #: All up to this revision has been told.
    revision: int


@dataclass(frozen=True)
class Events:
    """What happened in one commit, and how groups are after it."""

    #: What happened to locks, in order of revision.
    events: tuple[Event, ...]
    #: What happened to groups, in order of revision.
    group_events: tuple[GroupEvent, ...]
    #: The watched groups that changed, as they are now. Of what is told late, only the last tells how a group is.
    groups: tuple[Group, ...]
    #: All up to this revision has been told.
    revision: int


@dataclass(frozen=True)
class Progressed:
    """Nothing happened to what is watched, up to this revision."""

    revision: int


@dataclass(frozen=True)
class HistoryGone:
    """The history after the last revision that was told is not there any more. A snapshot follows."""

    cause: HistoryGoneCause


#: What a watch tells.
WatchItem = Snapshot | Events | Progressed | HistoryGone
