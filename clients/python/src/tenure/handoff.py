"""Planned handoffs, from the holder's side."""

from dataclasses import dataclass

from tenure import clock
from tenure.clock import MILLISECOND, SECOND, seconds

#: What is kept of the drain for the release to reach the server in time: a fifth ...
MARGIN_DIVISOR = 5
#: ... but at least this ...
MARGIN_MIN = 20 * MILLISECOND
#: ... and at most this.
MARGIN_MAX = SECOND


@dataclass(frozen=True)
class TransferRequest:
    """The holder is asked to stop its work and hand over. It confirms by releasing; if it does not in time, it holds on."""

    #: For how many seconds the holder was given to go on, from when it was asked.
    drain: float
    #: The operator who asks. None: a better candidate waits, and the lock's settings say that it is handed the lock; or the
    #: client was moving to another server when the request came.
    operator: str | None
    #: The operator's note, as far as the operator is known.
    note: str | None
    _stop_at: int

    @classmethod
    def received(cls, drain: int, operator: str, note: str, now: int) -> "TransferRequest":
        """Of a request that came now."""
        return cls(seconds(drain), operator or None, note or None, stop_at(drain, now))

    @property
    def remaining(self) -> float:
        """How many seconds the work may go on, if the release is to reach the server in time. Zero when that has passed."""
        return seconds(max(self._stop_at - clock.now(), 0))


def stop_at(drain: int, now: int) -> int:
    """When the work has to stop."""
    margin = min(max(drain // MARGIN_DIVISOR, MARGIN_MIN), MARGIN_MAX)
    return now + max(drain - margin, 0)
