"""Progress: reported by a program, as a condition for the renewal of its sessions."""

from tenure import clock
from tenure.clock import Seconds
from tenure.error import InvalidError


class Progress:
    """Requires a tick in each `within`. A tick is one assignment: any thread may report it, and a tight loop, too."""

    def __init__(self, within: Seconds) -> None:
        self._within = clock.seconds(within, "stall_after")
        if self._within <= 0:
            raise InvalidError("stall_after", "it must be more than zero")
        self._reported = clock.now()

    def tick(self, now: float | None = None) -> None:
        """Reports progress."""
        self._reported = clock.now() if now is None else now

    def is_stalled(self, since: float, now: float) -> bool:
        """Whether it is stalled at `now`, for something that began at `since`: earlier reports are ignored."""
        return now - max(self._reported, since) >= self._within


def check_stall_after(stall_after: Seconds | None) -> None:
    """Checks that progress is possible at all."""
    if stall_after is not None:
        Progress(stall_after)
