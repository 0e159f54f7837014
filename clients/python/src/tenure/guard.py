"""The view of a hold that both clients share."""

from dataclasses import dataclass

from tenure import clock, v1
from tenure.clock import from_wire
from tenure.error import Lost, LostError
from tenure.protocol import Item

#: The part of the drain that is reserved for the release to reach the server in time: a fifth ...
MARGIN_DIVISOR = 5
#: ... but at least this, in seconds ...
MARGIN_MIN = 0.02
#: ... and at most this.
MARGIN_MAX = 1.0


@dataclass(frozen=True)
class TransferRequest:
    """A request to the holder to stop its work and hand over. It confirms by releasing; otherwise it keeps the lock."""

    #: The request. Without an operator: a better candidate waits, and by the lock's settings it is handed the lock; or
    #: the client was moving to another server when the request arrived.
    pending: v1.PendingTransfer
    _stop_at: float

    @property
    def remaining(self) -> float:
        """How many seconds the work may continue, if the release is to reach the server in time. Zero when that has
        passed."""
        return max(self._stop_at - clock.now(), 0.0)


def stop_at(drain: float, since: float) -> float:
    """When work must stop that was requested to stop at `since`."""
    return since + max(drain - min(max(drain / MARGIN_DIVISOR, MARGIN_MIN), MARGIN_MAX), 0.0)


class HoldView:
    """What any thread may read of a hold."""

    def __init__(self, item: Item) -> None:
        self._item = item
        #: The fencing token, to be sent with every write that the lock protects. Greater than all tokens granted before
        #: it in the namespace.
        self.token = item.token
        #: The locks that are held, in byte order.
        self.names = item.names

    def is_valid(self) -> bool:
        """Whether the server cannot have ended the hold, decided by the clock at this moment. Once False it stays so. A
        program may still be paused right after the check: the token protects against that."""
        return self.lost_reason is None

    def check(self) -> None:
        """Raises LostError unless the hold is valid at this moment: for long work, between its steps."""
        if (lost := self.lost_reason) is not None:
            raise LostError(lost)

    @property
    def lost_reason(self) -> Lost | None:
        """Why it is lost, if it is."""
        return self._item.lost_reason()

    @property
    def transfer_request(self) -> TransferRequest | None:
        """The present request to hand over, if there is one."""
        state, since = self._item.state, self._item.state_at
        if not isinstance(state, v1.HeldState) or not state.HasField("transfer"):
            return None
        return TransferRequest(state.transfer, stop_at(from_wire(state.transfer.drain), since))

    def tick(self) -> None:
        """Reports progress of the work under the hold: see `stall_after`, without which this has no effect. Cheap; any
        thread may call it."""
        for item in (self._item, self._item.session):
            if item.progress is not None:
                item.progress.tick()
