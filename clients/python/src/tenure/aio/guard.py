"""What is held."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Coroutine, Mapping
from typing import Any, Literal

from tenure import presence, v1
from tenure.declare import Part
from tenure.error import Lost
from tenure.guard import HoldView, TransferRequest
from tenure.session import SessionView


class Hold(HoldView):
    """A view of what is held, to hand around: it shows whether the hold is valid but does not keep it."""

    async def lost(self) -> Lost:
        """Waits until the hold is lost or released: before the server could end the hold, or as soon as it reports the
        end."""
        return await presence.lost(self._item)

    async def transfer_requested(self) -> TransferRequest:
        """Waits until the server asks to hand the locks over: an operator's transfer, or a better candidate that
        preempts. The work should then stop and release the locks, which confirms the handoff; otherwise the hold
        remains."""
        return await presence.wait(self._item, lambda: self.transfer_request)


class Guard(Hold):
    """Keeps what is held, until it is released. One that is not released when it is collected is released then, with a
    ResourceWarning."""

    def __init__(self, part: Part, session: SessionView) -> None:
        super().__init__(part.item)
        self._part = part
        #: The session that holds it.
        self.session = session
        #: A view of the hold, to pass to tasks.
        self.hold = Hold(part.item)

    def __bool__(self) -> Literal[True]:
        return True

    async def release(self) -> None:
        """Releases the locks, and returns when the server has released them.

        LostError if the hold had been lost before, even if only the server knows that; UnavailableError if no server
        confirmed it in time, and then the release is repeated in the background.
        """
        await self._part.end()

    async def update_metadata(self, metadata: Mapping[str, str]) -> None:
        """Replaces the labels of the claim. RefusedError, UnavailableError."""
        request = v1.UpdateClaimRequest(
            name=self.names[0], session_id=self.session.id, token=self.token, metadata=metadata
        )
        await self._part.connection.call("LockService/UpdateClaim", request, v1.UpdateClaimResponse)

    async def transfer_to(self, session_id: str | None = None) -> int:
        """Hands the locks over to a session that waits for them (None: to the first in the queue), in one step and
        without a gap in which they have no holder. Returns the next holder's token. The work must have stopped: from
        the call on this hold is no longer valid, and if the handoff fails, the locks are released.

        LostError; RefusedError, with TRANSFER_IMPOSSIBLE if no waiter could hold next; UnavailableError.
        """
        self.check()
        self._part.connection.check()
        self._item.lost = self._item.by_program()
        request = v1.TransferRequest(
            name=self.names[0], session_id=self.session.id, token=self.token, to_session_id=session_id or ""
        )
        try:
            return (await self._part.connection.call("LockService/Transfer", request, v1.TransferResponse)).token
        finally:
            self._part.drop()

    def __del__(self) -> None:
        if hasattr(self, "_part") and self._part.collect():
            warnings.warn(f"the hold of {self.names} was not released", ResourceWarning, source=self, stacklevel=1)


class Cancelling:
    """Cancels the task that enters it when something happens, and takes the cancellation back on exit, as
    `asyncio.timeout` does."""

    def __init__(self, *happens: Coroutine[Any, Any, object]) -> None:
        self._happens = happens
        #: Whether it has happened.
        self.happened = False

    async def __aenter__(self) -> Cancelling:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("it can only be used in a task")
        self._task = task
        #: How many others have requested the task's cancellation. Before Python 3.11 tasks do not count.
        self._before = task.cancelling() if hasattr(task, "cancelling") else 0
        self._watchers = [asyncio.ensure_future(happens) for happens in self._happens]
        for watcher in self._watchers:
            watcher.add_done_callback(self._cancel)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        for watcher in self._watchers:
            watcher.remove_done_callback(self._cancel)
            watcher.cancel()
        if not self.happened:
            return False
        others = self._task.uncancel() - self._before if hasattr(self._task, "uncancel") else 0
        return others <= 0 and kind is not None and issubclass(kind, asyncio.CancelledError)

    def _cancel(self, watcher: asyncio.Future[object]) -> None:
        if not self.happened and not watcher.cancelled():
            self.happened = True
            self._task.cancel()
