"""The clock of validity: it runs while the machine is suspended, where the platform has such a clock. Moments are
seconds; only differences between them have a meaning."""

import time
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration

#: What callers give as a duration: seconds, or a timedelta.
Seconds = float | timedelta

_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def now() -> float:
    """This moment. A clock that stops in suspend would let a process that was suspended for its TTL consider itself
    valid."""
    return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)


def seconds(duration: Seconds, option: str) -> float:
    """A caller's duration. TypeError names the option."""
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    if isinstance(duration, bool) or not isinstance(duration, int | float):
        raise TypeError(f"{option} must be seconds (a number) or a timedelta, not {type(duration).__name__}")
    return float(duration)


def to_wire(duration: Seconds, option: str) -> Duration:
    """A caller's duration for the wire."""
    message = Duration()
    message.FromNanoseconds(round(seconds(duration, option) * 1e9))
    return message


def from_wire(duration: Duration) -> float:
    """A duration from the wire, in seconds: zero if it is absent or negative."""
    return max(duration.seconds + duration.nanos / 1e9, 0.0)
