"""The options of sessions, locks, elections and groups, and the contract's parameters that they become."""

import itertools
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from tenure import v1
from tenure.clock import Seconds, to_wire
from tenure.error import InvalidError

#: The default TTL, in seconds.
DEFAULT_TTL = 10.0
#: The most bytes of an owner label: the contract's bound.
LONGEST_OWNER = 255


class OwnSessionOptions(TypedDict, total=False):
    """Of a session that is opened for one request, and ends with it."""

    #: How long the session outlives this program: 0.5 s to 24 h. Default: 10 s.
    ttl: Seconds
    #: How long the session outlives this program's connection: 0.1 s to the TTL. Default: none, the TTL alone applies.
    disconnect_grace: Seconds
    #: A display name for people: at most 255 bytes. Default: PROGRAM@HOST, of the file name of the running program.
    owner: str
    #: The session's id: 1 to 128 bytes. Rejected while another session of this id is open. Default: a new unique id.
    id: str


class SessionOptions(OwnSessionOptions, total=False):
    """Of a session."""

    #: Labels on the session: at most 4096 bytes in total.
    metadata: Mapping[str, str]
    #: Renews the session only while the last `Session.tick` is less than this ago. More than 0. Default: renewed while
    #: the client runs.
    stall_after: Seconds


class LockOptions(TypedDict, total=False):
    """Of a claim to locks."""

    #: Shares the locks with other shared requests. Default: exclusive.
    shared: bool
    #: Acquires this number of permits of each lock (1 to 1,000,000), out of the lock's limit: a semaphore. Default:
    #: exclusive, or 1 with a limit.
    permits: int
    #: The limit of permits that this program expects (1 to 1,000,000): rejected if the lock has another one. Default:
    #: the lock's own.
    limit: int
    #: Waiters of higher priority are served first: -1000 to 1000. Default: 0.
    priority: int
    #: Labels on the claim: at most 4096 bytes in total.
    metadata: Mapping[str, str]
    #: For at least this long after the grant, no claim is granted these locks again. At most 24 h. Default: 0.
    min_hold: Seconds
    #: Renews the session only while the last `Hold.tick` is less than this ago. More than 0. Default: renewed while the
    #: client runs.
    stall_after: Seconds


class OwnLockOptions(OwnSessionOptions, LockOptions, total=False):
    """Of a lock in a session of its own."""


class ElectionOptions(OwnSessionOptions, total=False):
    """Of a candidacy in an election."""

    #: Candidates of higher priority are elected first: -1000 to 1000. Default: 0.
    priority: int
    #: Labels on the candidate, such as the address at which the leader is reached: at most 4096 bytes in total.
    metadata: Mapping[str, str]
    #: For at least this long after a candidate was elected, no other is elected. At most 24 h. Default: 0.
    min_hold: Seconds
    #: The leadership is renewed only while the leader's work makes progress. In `lead_every` the loop reports it: this
    #: is the longest time for one body. Otherwise the work reports it by `Hold.tick`. More than 0. Default: renewed
    #: while the client runs.
    stall_after: Seconds


class GroupOptions(OwnSessionOptions, total=False):
    """Of a membership in a session of its own."""

    #: Labels on the membership, such as its capacity: at most 4096 bytes in total.
    metadata: Mapping[str, str]


def split(caller: str, allowed: type, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Those of a session of its own, and the others. TypeError for one that is not allowed."""
    for option in options:
        if option not in allowed.__annotations__:
            raise TypeError(f"{caller}() got an unexpected keyword argument '{option}'")
    own = {option: value for option, value in options.items() if option in OwnSessionOptions.__annotations__}
    return own, {option: value for option, value in options.items() if option not in own}


def declared_session(options: Mapping[str, Any]) -> v1.DeclaredSession:
    """The parameters of a session with these `SessionOptions`. The server checks the bounds."""
    grace = options.get("disconnect_grace")
    return v1.DeclaredSession(
        session_id=options.get("id") or "",
        ttl=to_wire(options.get("ttl", DEFAULT_TTL), "ttl"),
        disconnect_grace=None if grace is None else to_wire(grace, "disconnect_grace"),
        owner=options.get("owner", program_at_host()),
        metadata=options.get("metadata"),
    )


def declared_claim(names: Iterable[str], options: Mapping[str, Any]) -> v1.DeclaredClaim:
    """The parameters of a claim with these `LockOptions`. The server checks the bounds; here is checked what is not
    worth a request."""
    in_order = sorted(names, key=str.encode)
    if not in_order:
        raise InvalidError("names", "there are none")
    for one, other in itertools.pairwise(in_order):
        if one == other:
            raise InvalidError("names", f'"{one}" is there twice')
    is_shared, permits, limit = (options.get(option) for option in ("shared", "permits", "limit"))
    has_permits = permits is not None or limit is not None
    if is_shared and has_permits:
        raise InvalidError("shared", "permits are never shared")
    return v1.DeclaredClaim(
        names=in_order,
        mode=v1.MODE_PERMITS if has_permits else v1.MODE_SHARED if is_shared else v1.MODE_EXCLUSIVE,
        permits=permits or 0,
        limit=limit or 0,
        priority=options.get("priority", 0),
        metadata=options.get("metadata"),
        min_hold=to_wire(options.get("min_hold", 0), "min_hold"),
    )


def program_at_host() -> str:
    """The default owner: the file name of the running program or script, at the host."""
    script = Path(sys.argv[0] if sys.argv else "")
    # `python -m package` runs the file __main__.py of the package.
    program = script.parent.name if script.name == "__main__.py" else script.name
    owner = f"{program if program not in ('', '-c', '-m') else 'python'}@{socket.gethostname()}"
    printable = "".join(letter for letter in owner if letter.isprintable())
    return printable.encode(errors="ignore")[:LONGEST_OWNER].decode(errors="ignore")
