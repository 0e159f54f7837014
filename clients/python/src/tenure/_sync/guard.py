"""What is held."""

from __future__ import annotations

from typing import Literal

from tenure._sync.portal import blocking, blocking_within
from tenure.aio import guard as aio
from tenure.guard import HoldView
from tenure.session import SessionView


class Hold(HoldView):
    """A view of what is held, to hand around: it shows whether the hold is valid but does not keep it. Any thread may use it."""

    def __init__(self, hold: aio.Hold) -> None:
        super().__init__(hold._item)
        self._inner = hold

    lost = blocking_within(aio.Hold.lost)
    transfer_requested = blocking_within(aio.Hold.transfer_requested)


class Guard(Hold):
    """Keeps what is held, until it is released. One that is not released when it is collected is released then, with a
    ResourceWarning."""

    def __init__(self, guard: aio.Guard) -> None:
        super().__init__(guard)
        self._guard = guard

    def __bool__(self) -> Literal[True]:
        return True

    @property
    def hold(self) -> Hold:
        """A view of the hold, to pass to threads."""
        return Hold(self._guard.hold)

    @property
    def session(self) -> SessionView:
        """The session that holds it."""
        return self._guard.session

    release = blocking(aio.Guard.release)
    update_metadata = blocking(aio.Guard.update_metadata)
    transfer_to = blocking(aio.Guard.transfer_to)
