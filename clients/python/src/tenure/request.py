"""What callers say about what they ask for. Durations are seconds, or timedeltas."""

import itertools
import os
import time
import uuid
from collections.abc import Iterable, Mapping

from typing_extensions import TypedDict

from tenure import clock
from tenure._engine.claims import AcquireSpec
from tenure._engine.openings import SessionSpec
from tenure.clock import Seconds, nanoseconds
from tenure.errors import InvalidError
from tenure.model import Mode
from tenure.options import DEFAULT_TTL
from tenure.progress import Progress


class OwnSessionOptions(TypedDict, total=False):
    """Of a session that is opened for one request, and ends with it."""

    #: How long the session outlives this program if that dies: 0.5 s to 24 h. Default: 10 s.
    ttl: Seconds
    #: How long the session outlives this program's connection: 0.1 s to the TTL. Default: none, the TTL alone counts.
    disconnect_grace: Seconds
    #: Who this is, for people: a host, a pod, a job. At most 255 bytes. Default: empty.
    owner: str
    #: The session's id: 1 to 128 bytes. Two programs must never use the same id at the same time. Default: a fresh one.
    session_id: str


class ClaimOptions(TypedDict, total=False):
    """Of a claim to locks."""

    #: Shares the locks with others who ask for them shared. Default: exclusive.
    shared: bool
    #: Takes so many permits of each lock (1 to 1,000,000), out of the lock's limit: a semaphore. Default: exclusive, or 1 with a
    #: limit.
    permits: int
    #: The limit of permits that this program goes by (1 to 1,000,000): refused if the lock has another one. Default: whatever
    #: the lock's limit is.
    limit: int
    #: Higher goes first among waiters: -1000 to 1000. Default: 0.
    priority: int
    #: Free labels on the claim: at most 4096 bytes.
    metadata: Mapping[str, str]
    #: For at least this long after the grant nobody is granted these locks again. At most 24 h. Default: 0.
    min_hold: Seconds
    #: Renews the session only while the last `tick` of the hold is less than this ago. More than 0. Default: renewed while the
    #: client runs.
    stall_after: Seconds


class LockOptions(OwnSessionOptions, ClaimOptions, total=False):
    """Of a lock in a session of its own."""


class ElectionOptions(OwnSessionOptions, total=False):
    """Of one candidate's part in an election."""

    #: Higher goes first among candidates: -1000 to 1000. Default: 0.
    priority: int
    #: Labels on the candidate, such as the address at which the leader is reached.
    metadata: Mapping[str, str]
    #: For at least this long after a candidate was elected no other is. Default: 0.
    min_hold: Seconds
    #: The leadership is renewed only while the leader's work makes progress. In `lead_every` the loop tells by itself: this is
    #: how long one body may take. Else the work tells by `Hold.tick`. Default: renewed while the client runs.
    stall_after: Seconds


class GroupOptions(OwnSessionOptions, total=False):
    """Of a membership in a session of its own."""

    #: Free labels on the membership, such as what this member can take. At most 4096 bytes.
    metadata: Mapping[str, str]


def session_spec(
    ttl: Seconds = DEFAULT_TTL,
    disconnect_grace: Seconds | None = None,
    owner: str = "",
    metadata: Mapping[str, str] | None = None,
    session_id: str | None = None,
    stall_after: Seconds | None = None,
) -> SessionSpec:
    """Which session to open."""
    return SessionSpec(
        id=uuid7() if session_id is None else session_id,
        ttl=nanoseconds(ttl),
        disconnect_grace=None if disconnect_grace is None else nanoseconds(disconnect_grace),
        owner=owner,
        metadata=dict(metadata or {}),
        progress=None if stall_after is None else Progress(nanoseconds(stall_after), clock.now()),
    )


def acquire_spec(
    names: Iterable[str],
    shared: bool = False,
    permits: int | None = None,
    limit: int | None = None,
    priority: int = 0,
    metadata: Mapping[str, str] | None = None,
    min_hold: Seconds = 0,
    stall_after: Seconds | None = None,
) -> AcquireSpec:
    """Which locks to ask for. The server checks all bounds; here is checked what the local queue relies on."""
    sorted_names = tuple(sorted(names, key=str.encode))
    if not sorted_names:
        raise InvalidError("names", "there are none")
    for one, other in itertools.pairwise(sorted_names):
        if one == other:
            raise InvalidError("names", f'"{one}" is there twice')
    if stall_after is not None and nanoseconds(stall_after) <= 0:
        raise InvalidError("stall_after", "it is to be more than zero")
    counted = permits is not None or limit is not None
    if shared and counted:
        raise InvalidError("shared", "permits are never shared")
    return AcquireSpec(
        names=sorted_names,
        mode=Mode.PERMITS if counted else Mode.SHARED if shared else Mode.EXCLUSIVE,
        permits=(1 if permits is None else permits) if counted else 0,
        limit=limit or 0,
        priority=priority,
        metadata=dict(metadata or {}),
        min_hold=nanoseconds(min_hold),
        stall_after=None if stall_after is None else nanoseconds(stall_after),
    )


def own_session(options: OwnSessionOptions) -> SessionSpec:
    """The session that is opened for a request."""
    keys = ("ttl", "disconnect_grace", "owner", "session_id")
    return session_spec(**{key: options[key] for key in keys if key in options})  # type: ignore[literal-required]


def claim_options(options: ClaimOptions) -> ClaimOptions:
    """What is said of the claim."""
    return {key: value for key, value in options.items() if key in ClaimOptions.__annotations__}  # type: ignore[return-value]


def uuid7() -> str:
    """A fresh id that sorts by time."""
    milliseconds = time.time_ns() // clock.MILLISECOND
    number = (milliseconds & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10), "big")
    number = number & ~(0xF << 76) | 0x7 << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=number))
