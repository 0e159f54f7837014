"""The keep-alives of the current stream."""

import math
from collections import deque
from collections.abc import Iterable

from tenure.protocol.item import Item
from tenure.protocol.validity import Validity

#: Without a reply to a change for this long, in seconds, a keep-alive shows whether the server is there.
PROBE_AFTER = 0.25
#: Without a reply for this long, the client connects to another server, which may be faster: for a change if it has no
#: open session, for a keep-alive or a Hello always.
PATIENCE = 1.0
#: The same as a part of the shortest time for which a session is valid, if that is less.
PATIENCE_DIVISOR = 4


class KeepAlives:
    """A Hello renews like a keep-alive, and has a number like one."""

    def __init__(self) -> None:
        self.last_number = 0
        #: When the next one is due; never, if no session needs it.
        self.due = math.inf
        #: The shortest `valid_for` of the sessions, when the last one was sent.
        self.shortest = math.inf
        #: Those without an acknowledgement: their numbers, and when they were queued, which is not after they are sent.
        self._unanswered: deque[tuple[int, float]] = deque()

    def add(self, now: float) -> int:
        """Adds one, and returns its number."""
        self.last_number += 1
        self._unanswered.append((self.last_number, now))
        return self.last_number

    def add_hello(self, now: float) -> int:
        """Adds the Hello of a new stream."""
        self._unanswered.clear()
        return self.add(now)

    def acknowledge(self, number: int) -> float | None:
        """Removes an acknowledged one, and all before it. Returns when it was queued."""
        acknowledged = None
        while self._unanswered and self._unanswered[0][0] <= number:
            unanswered, sent = self._unanswered.popleft()
            acknowledged = sent if unanswered == number else None
        return acknowledged

    def include(self, validity: Validity, renewed: float) -> None:
        """Takes a session into account."""
        self.due = min(self.due, renewed + validity.renew_after)
        self.shortest = min(self.shortest, validity.valid_for)

    def plan(self, items: Iterable[Item], now: float) -> None:
        """Plans the next one after one that is sent at `now`."""
        self.due = self.shortest = math.inf
        for item in items:
            if item.validity is not None and item.withdrawn is None and item.paused is None:
                self.include(item.validity, now)

    @property
    def patience_ends(self) -> float:
        """When the server has not replied to the oldest one for too long."""
        patience = min(PATIENCE, self.shortest / PATIENCE_DIVISOR)
        return self._unanswered[0][1] + patience if self._unanswered else math.inf
