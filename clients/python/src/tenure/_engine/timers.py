"""What is to be done later. Pure: the time is passed in."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

#: What is done when it is due, given the time. Whoever is called checks whether it still is to be done.
Act = Callable[[int], None]
#: So many that were taken out are borne before they are cleared away.
MOST_IDLE = 1000


@dataclass(order=True)
class Timer:
    """Something to be done at a moment."""

    at: int
    number: int
    act: Act | None = field(compare=False)


class Timers:
    """Timers in order of time."""

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._count = 0
        self._idle = 0

    def set(self, at: int, act: Act) -> Timer:
        """Has something done then."""
        self._count += 1
        timer = Timer(at, self._count, act)
        heapq.heappush(self._heap, timer)
        return timer

    def clear(self, timer: Timer | None) -> None:
        """Takes a timer out. It may have been due before."""
        if timer is None or timer.act is None:
            return
        timer.act = None
        self._idle += 1
        if self._idle > MOST_IDLE and self._idle * 2 > len(self._heap):
            self._heap = [timer for timer in self._heap if timer.act is not None]
            heapq.heapify(self._heap)
            self._idle = 0

    def next(self) -> int | None:
        """When the earliest is due."""
        while self._heap and self._heap[0].act is None:
            heapq.heappop(self._heap)
            self._idle -= 1
        return self._heap[0].at if self._heap else None

    def pop(self, now: int) -> Act | None:
        """What is due at `now`, the earliest first."""
        at = self.next()
        if at is None or at > now:
            return None
        timer = heapq.heappop(self._heap)
        act, timer.act = timer.act, None
        return act
