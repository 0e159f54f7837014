"""How long a session may be believed in: pure arithmetic, with the time passed in.

A session without a disconnect grace is good for its TTL from the sending of the last renewal that was answered. One with a
grace ends that long after the server has seen its stream break, and the client may be the last to see that: so it is good for
no longer than the grace from then. What is shorter of the two is its *window*, by which all the rest is measured.
"""

from enum import IntEnum

from tenure.clock import MILLISECOND

#: By how much the clocks of this machine and of the server may differ in rate: one part in a hundred.
DRIFT_DIVISOR = 100
#: What is taken off besides, so that the program is told before the deadline and not at it: a twentieth of it ...
MARGIN_DIVISOR = 20
#: ... but at least this (timers are not sharper than a few milliseconds) ...
MARGIN_MIN = 10 * MILLISECOND
#: ... and at most this.
MARGIN_MAX = 500 * MILLISECOND
#: A session is at risk when this part of its window is left: one renewal was missed.
RISK_DIVISOR = 3
#: Renewals are this many to a window.
RENEWALS_PER_WINDOW = 3
#: How long an answer to a renewal may take before the stream counts as broken, as a part of the window. Together with the
#: time between renewals it leaves 5/12 of the window to attach elsewhere.
SILENCE_DIVISOR = 4


class Phase(IntEnum):
    """How far along its validity a session is."""

    HEALTHY = 0
    AT_RISK = 1
    OVER = 2


class Validity:
    """The validity of one session. Once over it stays over: a late answer revives nothing."""

    def __init__(self, ttl: int, disconnect_grace: int | None, sent: int) -> None:
        """Of a session that was opened by a command sent at `sent`."""
        self.ttl = ttl
        self.disconnect_grace = disconnect_grace
        self._heard = sent
        self._expires = deadline(ttl, sent)
        self._over = False

    def renewed(self, ttl: int, sent: int, now: int) -> None:
        """A renewal that was sent at `sent` was answered. Nothing comes of it if that is too late."""
        self.attached(ttl, self.disconnect_grace, sent, now)

    def attached(self, ttl: int, disconnect_grace: int | None, sent: int, now: int) -> None:
        """A command to attach it was answered. Nothing comes of it if that is too late."""
        if self.phase(now) == Phase.OVER:
            return
        self.ttl = ttl
        self.disconnect_grace = disconnect_grace
        # Answers may overtake each other; the one that was asked for last tells most.
        self._heard = max(self._heard, sent)
        # A TTL that was promised before stands. A grace does not: with the new stream the new one is in force.
        self._expires = max(self._expires, deadline(ttl, sent))
        self.phase(now)

    def end(self) -> None:
        """Ends it, for another reason than the time."""
        self._over = True

    def phase(self, now: int) -> Phase:
        """Where it stands at `now`."""
        if now >= self.until:
            self._over = True
        if self._over:
            return Phase.OVER
        return Phase.AT_RISK if now >= self._risk_from else Phase.HEALTHY

    def next_change(self, now: int) -> int | None:
        """When the phase changes next if nothing is heard. None if it is over."""
        phase = self.phase(now)
        if phase == Phase.OVER:
            return None
        return self._risk_from if phase == Phase.HEALTHY else self.until

    @property
    def until(self) -> int:
        """The moment at which it is over if nothing is heard."""
        if self.disconnect_grace is None:
            return self._expires
        return min(self._expires, deadline(self.disconnect_grace, self._heard))

    @property
    def window(self) -> int:
        """For how long a renewal is good: the TTL, or the disconnect grace if there is one, which is never longer."""
        return self.ttl if self.disconnect_grace is None else min(self.ttl, self.disconnect_grace)

    @property
    def _risk_from(self) -> int:
        return self.until - self.window // RISK_DIVISOR


def renewal_period(window: int) -> int:
    """The time between two renewals."""
    return window // RENEWALS_PER_WINDOW


def silence_limit(window: int) -> int:
    """How long a renewal may stay unanswered before the stream counts as broken."""
    return window // SILENCE_DIVISOR


def deadline(window: int, sent: int) -> int:
    margin = min(max(window // MARGIN_DIVISOR, MARGIN_MIN), MARGIN_MAX)
    return sent + max(window - window // DRIFT_DIVISOR - margin, 0)
