"""One session, claim or membership: what the protocol and the handles know of it."""

from __future__ import annotations

from asyncio import Future

from tenure import clock, v1
from tenure.error import Lost, LostReason
from tenure.progress import Progress
from tenure.protocol.validity import Validity

#: The parameters with which something is declared.
Declared = v1.DeclaredSession | v1.DeclaredClaim | v1.DeclaredMembership
#: The states of what exists.
State = v1.OpenState | v1.WaitingState | v1.HeldState | v1.JoinedState
#: Why something has ended: it was lost, or withdrawn; the locks are not free; it was rejected.
End = Lost | v1.BusyState | v1.Refusal


class Item:
    """One session, claim or membership, from its declaration to its end.

    The protocol changes it, in the event loop. Any thread may read whether it is lost, which is decided by the clock at
    that moment.
    """

    def __init__(self, number: int, first: int, declared: Declared, session: Item | None) -> None:
        self.number = number
        #: The first number of its declaration.
        self.first = first
        #: The parameters, until its state is received. Then it is known to exist.
        self.declared: Declared | None = declared
        #: Its bytes, while a Hello would repeat it.
        self.size = declared.ByteSize()
        #: The locks of a claim, in byte order.
        self.names = tuple(declared.names) if isinstance(declared, v1.DeclaredClaim) else ()
        #: Its session: itself, if it is one.
        self.session = session or self
        self.is_session = session is None
        #: When the last message that declares it was queued; None: it was not sent yet, so no server knows it.
        self.sent: float | None = None
        #: The epoch in which this client withdrew it.
        self.withdrawn: int | None = None
        #: The last state, and when it arrived.
        self.state: State | None = None
        self.state_at = 0.0
        #: Why it has ended, if the server has reported that, or need not be asked.
        self.end: End | None = None
        #: The fencing token of a held claim.
        self.token = 0
        #: Why it is lost: finally.
        self.lost: Lost | None = None
        #: The progress that the renewal of the session depends on, once this is open or held: since then.
        self.progress: Progress | None = None
        self.since: float | None = None
        #: The futures to resolve after a change.
        self.waiters: set[Future[None]] = set()
        #: What only a session has: its claims and memberships ...
        self.parts: dict[int, Item] = {}
        #: ... keep-alives from this one on renew it ...
        self.renewed_from = 0
        #: ... keep-alives from this one on do not ...
        self.paused: int | None = None
        #: ... once it is open ...
        self.validity: Validity | None = None
        #: ... the epoch of the last stream that reported it as open.
        self.epoch = 0

    @property
    def is_stated(self) -> bool:
        """Whether a Hello states it. What was withdrawn before a server confirmed it is not; what was withdrawn later
        is, so that the reason of its end is reported."""
        return self.sent is not None and (self.withdrawn is None or self.declared is None)

    def is_renewed_by(self, number: int) -> bool:
        """Whether the keep-alive of this number renews the session."""
        return number >= self.renewed_from and (self.paused is None or number < self.paused)

    def by_program(self) -> Lost:
        """The reason of what this program ends."""
        return Lost(LostReason.CLOSED if self.is_session else LostReason.RELEASED)

    def lost_reason(self) -> Lost | None:
        """Why it is lost, if it is. The first caller to see that it has expired records the loss for all handles."""
        # Never assigns None: another thread may have recorded a loss meanwhile.
        if self.lost is None and (lost := self._loss()) is not None:
            self.lost = lost
        return self.lost

    def expired(self, now: float) -> Lost | None:
        """Why the session is lost at `now`, by the clock."""
        if self.validity is None or now < self.validity.until:
            return None
        return Lost(LostReason.UNRENEWED if self.paused is None else LostReason.STALLED)

    def _loss(self) -> Lost | None:
        if not self.is_session and (lost := self.session.lost_reason()) is not None:
            return lost
        if self.end is not None:
            return self.end if isinstance(self.end, Lost) else Lost(LostReason.FORGOTTEN)
        return self.by_program() if self.withdrawn is not None else self.expired(clock.now())
