"""The clock that validity is measured on: it runs while the machine is suspended, where the platform has such a clock.

Moments and durations inside this library are integers of nanoseconds; only differences of moments mean something.
"""

import sys
import time
from datetime import timedelta

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
#: A moment that never comes.
NEVER = sys.maxsize

#: What callers give as a duration: seconds, or a timedelta.
Seconds = float | timedelta

_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def now() -> int:
    """This moment. A monotonic clock that stops in suspend would let a process that slept through its TTL believe itself valid."""
    if _BOOTTIME is None:
        return time.monotonic_ns()
    return time.clock_gettime_ns(_BOOTTIME)


def nanoseconds(duration: Seconds) -> int:
    """A caller's duration."""
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    return round(seconds * SECOND)


def seconds(duration: int) -> float:
    """A duration for callers."""
    return duration / SECOND
