"""The current stream: its Hello, and what is sent on it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from tenure import v1
from tenure.protocol.item import Item

#: The most changes in one message: the contract's bound.
CHANGES_PER_MESSAGE = 1_000
#: With this many bytes a message is complete. With what is added last it is below the contract's 4 MiB.
BYTES_PER_MESSAGE = 3 << 20
#: The most bytes of a number in a message, and of the tag and the length before a declaration.
BYTES_PER_NUMBER = 10


@dataclass
class Stream:
    """A stream, from its Hello on."""

    epoch: int
    #: The number of its Hello among the keep-alives.
    hello: int
    #: When its Hello was queued.
    connected: float
    #: The messages to send. A keep-alive acknowledges the changes before it.
    outgoing: deque[v1.ConnectRequest] = field(default_factory=deque)
    #: When the oldest change that has a reply was queued, of those since the last states ...
    asked: float | None = None
    #: ... and whether a keep-alive was sent because of it.
    is_probed: bool = False
    #: Whether the client is to connect to another server.
    is_left: bool = False
    _bytes: int = 0

    def add(self, change: v1.Change, now: float) -> None:
        """Queues a change: successive ones go together."""
        if self.asked is None and change.WhichOneof("kind") in ("declare", "withdraw"):
            self.asked, self.is_probed = now, False
        last = self.outgoing[-1] if self.outgoing else None
        if (
            last is None
            or not last.HasField("changes")
            or len(last.changes.changes) >= CHANGES_PER_MESSAGE
            or self._bytes >= BYTES_PER_MESSAGE
        ):
            last, self._bytes = v1.ConnectRequest(changes=v1.Changes()), 0
            self.outgoing.append(last)
        last.changes.changes.append(change)
        self._bytes += change.ByteSize() + BYTES_PER_NUMBER


def state_in(declaration: v1.Declaration, item: Item) -> None:
    """Adds an item to a declaration."""
    if isinstance(item.declared, v1.DeclaredSession):
        declaration.open.CopyFrom(item.declared)
    elif isinstance(item.declared, v1.DeclaredClaim):
        declaration.claims.append(item.declared)
    elif item.declared is not None:
        declaration.memberships.append(item.declared)


def hellos(items: Iterable[Item], namespace: str, client_id: str, epoch: int) -> list[v1.ConnectRequest]:
    """States everything, in parts within the contract's bound."""

    def part() -> v1.Hello:
        return v1.Hello(namespace=namespace, client_id=client_id, epoch=epoch)

    parts, size, declaration = [part()], 0, 0
    for item in items:
        if size >= BYTES_PER_MESSAGE:
            parts[-1].more = True
            parts.append(part())
            size, declaration = 0, 0
        size += BYTES_PER_NUMBER * 2
        hello = parts[-1]
        if item.declared is None:
            hello.known.append(item.number)
            if item.paused is not None:
                hello.paused.append(item.number)
            continue
        size += item.declared.ByteSize()
        if declaration != item.first:
            declaration = item.first
            hello.declared.add(session=item.session.number)
        state_in(hello.declared[-1], item)
    return [v1.ConnectRequest(hello=hello) for hello in parts]


def unstated(item: Item) -> v1.Change | None:
    """The change that a Hello cannot state: that a session which it declares is paused, and what was withdrawn."""
    if item.withdrawn is not None:
        # A session is withdrawn with everything in it.
        is_covered = not item.is_session and item.session.withdrawn is not None
        return v1.Change(withdraw=item.number) if item.is_stated and not is_covered else None
    return v1.Change(pause=item.number) if item.paused is not None and item.declared is not None else None
