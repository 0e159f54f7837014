"""The current stream: its Hello, and what is sent on it."""

import itertools
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from tenure import v1
from tenure.protocol.item import Item

#: The most changes in one message: the contract's bound.
CHANGES_PER_MESSAGE = 1_000


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

    def add(self, change: v1.Change, now: float) -> None:
        """Queues a change: successive ones go together."""
        if self.asked is None and change.WhichOneof("kind") in ("declare", "withdraw"):
            self.asked, self.is_probed = now, False
        last = self.outgoing[-1].changes.changes if self.outgoing else ()
        if 0 < len(last) < CHANGES_PER_MESSAGE:
            self.outgoing[-1].changes.changes.append(change)
        else:
            self.outgoing.append(v1.ConnectRequest(changes=v1.Changes(changes=[change])))


def declarations(items: Iterable[Item]) -> Iterable[v1.Declaration]:
    """Those of unconfirmed items, in the order of their numbers: what was declared together remains together."""
    for _, together in itertools.groupby(items, key=lambda item: item.first):
        declaration = v1.Declaration()
        for item in together:
            declaration.session = item.session.number
            if isinstance(item.declared, v1.DeclaredSession):
                declaration.open.CopyFrom(item.declared)
            elif isinstance(item.declared, v1.DeclaredClaim):
                declaration.claims.append(item.declared)
            elif item.declared is not None:
                declaration.memberships.append(item.declared)
        yield declaration


def hello(items: Iterable[Item], namespace: str, client_id: str, epoch: int) -> v1.ConnectRequest:
    """States these items."""
    items = list(items)
    known = [item for item in items if item.declared is None]
    return v1.ConnectRequest(
        hello=v1.Hello(
            namespace=namespace,
            client_id=client_id,
            epoch=epoch,
            known=(item.number for item in known),
            paused=(item.number for item in known if item.paused is not None),
            declared=declarations(item for item in items if item.declared is not None),
        )
    )
