"""What handles and the connection know together: whether a session is valid, whether a hold is.

Any thread may ask. What changes is told to listeners, in whatever thread sees it first.
"""

import logging
import threading
from collections.abc import Callable
from enum import Enum

from tenure import clock
from tenure._link.process import Origin
from tenure.errors import Lost, LostReason
from tenure.handoff import TransferRequest
from tenure.progress import Progress
from tenure.validity import Phase, Validity

log = logging.getLogger("tenure")


class SessionState(str, Enum):
    """Where a session stands."""

    #: Renewed lately.
    HEALTHY = "healthy"
    #: Still valid, but a renewal is overdue: less than a third of the TTL is left, or of the disconnect grace.
    AT_RISK = "at_risk"
    #: Over, for good. The locks may be with others.
    LOST = "lost"


class Listeners:
    """Who is told that something has changed."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []

    def add(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def remove(self, listener: Callable[[], None]) -> None:
        self._listeners.remove(listener)

    def tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()


class SessionPresence:
    """One session's validity, decided by the clock at the moment of asking."""

    def __init__(self, ttl: int, disconnect_grace: int | None, sent: int, progress: Progress | None = None) -> None:
        self.validity = Validity(ttl, disconnect_grace, sent)
        self.progress = progress
        #: Whether a renewal is due and held back.
        self.stalled = False
        self.changed = Listeners()
        self.lost: Lost | None = None
        self._origin = Origin()
        self._state = SessionState.HEALTHY
        #: Reentrant: a forgotten guard asks when it is garbage, which may be in the midst of what this thread does here.
        self._lock = threading.RLock()

    def check(self, now: int) -> SessionState:
        """Where the session stands. Whoever sees first that its time is over, makes it so for everyone."""
        if not self._origin.is_here:
            return self._forked()
        with self._lock:
            changes = self._see(now)
        if changes:
            self.changed.tell()
        return self._state

    def is_valid(self) -> bool:
        """Whether the server cannot have given its locks away, at this very moment."""
        return self.check(clock.now()) != SessionState.LOST

    def renewed(self, ttl: int, sent: int, now: int) -> None:
        """A renewal was answered."""
        with self._lock:
            self.validity.renewed(ttl, sent, now)
        self.check(now)

    def attached(self, ttl: int, disconnect_grace: int | None, sent: int, now: int) -> None:
        """A command to attach it was answered."""
        with self._lock:
            self.validity.attached(ttl, disconnect_grace, sent, now)
        self.check(now)

    def end(self, lost: Lost) -> None:
        """Ends it. The first reason stays."""
        if not self._origin.is_here:
            self._forked()
            return
        with self._lock:
            self.validity.end()
            if self.lost is not None:
                return
            self.lost = lost
            self._state = SessionState.LOST
        self.changed.tell()

    @property
    def window(self) -> int:
        """For how long a renewal is good."""
        return self.validity.window

    def _forked(self) -> SessionState:
        """Ends it in the child of a fork, without the lock, which a thread of the parent may have held."""
        if self.lost is None:
            self.lost = Lost(LostReason.FORKED)
        self._state = SessionState.LOST
        return self._state

    def _see(self, now: int) -> bool:
        phase = self.validity.phase(now)
        if self._state == SessionState.LOST:
            return False
        state = (SessionState.HEALTHY, SessionState.AT_RISK, SessionState.LOST)[phase]
        if phase == Phase.OVER:
            self.lost = Lost(LostReason.STALLED if self.stalled else LostReason.EXPIRED)
        changes = state != self._state
        self._state = state
        return changes


class HoldPresence:
    """One hold's validity: its session's, unless the hold ended before."""

    def __init__(self, session: SessionPresence, names: tuple[str, ...], token: int, progress: Progress | None) -> None:
        self.session = session
        self.names = names
        self.token = token
        #: The progress of the work under the hold, if it is renewed only while there is some.
        self.progress = progress
        self.changed = Listeners()
        self.transfer_request: TransferRequest | None = None
        self._ended: Lost | None = None

    def is_valid(self) -> bool:
        return self._ended is None and self.session.is_valid()

    def lost(self) -> Lost | None:
        """Why it is lost, if it is."""
        if self._ended is None and not self.session.is_valid():
            self._ended = self.session.lost
        return self._ended

    def end(self, lost: Lost) -> None:
        """Ends it. The first reason stays."""
        if self._ended is None:
            self._ended = lost
            self.changed.tell()

    def hand_over(self, request: TransferRequest) -> None:
        """The server asks for a handoff."""
        self.transfer_request = request
        self.changed.tell()

    def tick(self) -> None:
        """The work under the hold gets on, and so does the session."""
        now = clock.now()
        for progress in (self.progress, self.session.progress):
            if progress is not None:
                progress.tick(now)
