"""The view of a session that both clients share."""

from enum import Enum

from tenure import clock, v1
from tenure.clock import from_wire
from tenure.error import Lost
from tenure.protocol import Item


class SessionState(str, Enum):
    """The state of a session."""

    #: Recently renewed.
    HEALTHY = "healthy"
    #: Still valid, but a renewal is overdue: less than a third of the TTL is left, or of the disconnect grace.
    AT_RISK = "at_risk"
    #: Lost, finally. The locks may be granted to others.
    LOST = "lost"


class SessionView:
    """What any thread may read of a session."""

    def __init__(self, item: Item, declared: v1.DeclaredSession) -> None:
        self._item = item
        self._declared = declared
        #: Its id.
        self.id = item.state.session_id if isinstance(item.state, v1.OpenState) else declared.session_id
        #: Its owner label.
        self.owner = declared.owner
        #: The TTL, in seconds.
        self.ttl = from_wire(declared.ttl)
        #: The disconnect grace, in seconds, if it has one.
        self.disconnect_grace = from_wire(declared.disconnect_grace) or None

    @property
    def state(self) -> SessionState:
        """Its state, decided by the clock at this moment."""
        if self.lost_reason is not None:
            return SessionState.LOST
        validity = self._item.validity
        is_at_risk = validity is not None and clock.now() >= validity.at_risk_from
        return SessionState.AT_RISK if is_at_risk else SessionState.HEALTHY

    def is_valid(self) -> bool:
        """Whether the server cannot have ended the session, decided by the clock at this moment: a process that was
        paused for too long gets False when it resumes. Once False it stays so."""
        return self.lost_reason is None

    @property
    def valid_for(self) -> float:
        """In how many seconds the session is lost without another renewal. 0 once it is lost."""
        validity = self._item.validity
        return max(validity.until - clock.now(), 0.0) if validity is not None and self.is_valid() else 0.0

    @property
    def lost_reason(self) -> Lost | None:
        """Why it is lost, if it is, decided by the clock at this moment."""
        return self._item.lost_reason()

    def tick(self) -> None:
        """Reports progress of the program: see `stall_after`, without which this has no effect. Cheap; any thread may
        call it."""
        if self._item.progress is not None:
            self._item.progress.tick()
