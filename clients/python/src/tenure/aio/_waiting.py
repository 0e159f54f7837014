"""Waiting in an event loop for what any thread may tell."""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from types import TracebackType
from typing import Any, TypeVar

from tenure import clock
from tenure._engine.reply import Reply
from tenure.clock import SECOND
from tenure.errors import Lost
from tenure.handoff import TransferRequest
from tenure.presence import HoldPresence, Listeners, SessionPresence, SessionState

T = TypeVar("T")

#: Timers of the event loop stop in suspend, so nobody sleeps longer than this without a look at the clock.
LONGEST_NAP = SECOND


def replying(future: "asyncio.Future[T]") -> Reply[T]:
    """A reply that goes to a future of this loop. If that is cancelled, nobody wants it any more."""

    def told(reply: Reply[T]) -> None:
        if future.done():
            return
        if reply.error is not None:
            future.set_exception(reply.error)
        else:
            future.set_result(reply.value)  # type: ignore[arg-type]

    reply = Reply(told)
    future.add_done_callback(lambda future: reply.drop() if future.cancelled() else None)
    return reply


@contextlib.contextmanager
def changes_of(*listeners: Listeners) -> Iterator[asyncio.Event]:
    """An event that is set by each change."""
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()

    def tell() -> None:
        # A loop that has ended has nobody who waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(changed.set)

    for one in listeners:
        one.add(tell)
    try:
        yield changed
    finally:
        for one in listeners:
            one.remove(tell)


async def nap(changed: asyncio.Event, until: int | None) -> None:
    """Waits for a change, for a moment, or for a look at the clock."""
    longest = LONGEST_NAP if until is None else min(max(until - clock.now(), 0), LONGEST_NAP)
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(changed.wait(), longest / SECOND)
    changed.clear()


async def session_lost(presence: SessionPresence) -> Lost:
    """Waits until the session is lost. Looks at the clock itself, so that it needs nobody else to be on time."""
    with changes_of(presence.changed) as changed:
        while presence.check(clock.now()) != SessionState.LOST or presence.lost is None:
            await nap(changed, presence.validity.until)
        return presence.lost


async def hold_lost(presence: HoldPresence) -> Lost:
    """Waits until the hold is lost or released."""
    with changes_of(presence.changed, presence.session.changed) as changed:
        while (lost := presence.lost()) is None:
            await nap(changed, presence.session.validity.until)
        return lost


async def transfer_requested(presence: HoldPresence) -> TransferRequest:
    """Waits until the server asks to hand over."""
    with changes_of(presence.changed) as changed:
        while presence.transfer_request is None:
            await nap(changed, None)
        return presence.transfer_request


class Cancelling:
    """Cancels the task that enters it when something happens, and takes the cancellation back on exit, as `asyncio.timeout`
    does. `happened` tells whether that was so."""

    def __init__(self, happens: Coroutine[Any, Any, object]) -> None:
        self._happens = happens
        self.happened = False
        #: Whether the task has left it: what happens then does not concern it any more.
        self._is_left = False

    async def __aenter__(self) -> "Cancelling":
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("it can only be used in a task")
        self._task = task
        #: How many others had asked for the task's cancellation already. Before Python 3.11 tasks do not count.
        self._before = task.cancelling() if hasattr(task, "cancelling") else 0
        self._watcher = asyncio.ensure_future(self._happens)
        self._watcher.add_done_callback(self._cancel)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._is_left = True
        self._watcher.cancel()
        if not self.happened:
            return False
        others = self._task.uncancel() - self._before if hasattr(self._task, "uncancel") else 0
        return others <= 0 and kind is not None and issubclass(kind, asyncio.CancelledError)

    def _cancel(self, watcher: "asyncio.Future[object]") -> None:
        if not self._is_left and not watcher.cancelled():
            self.happened = True
            self._task.cancel()
