"""The event loop behind the clients for threads: one thread for all of them in a process."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar, cast

T = TypeVar("T")


class _Portal:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="tenure", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


_portals: list[_Portal] = []
_making = threading.Lock()

# A child has no such thread. gRPC does not survive a fork either, but calls then end at their deadlines.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_portals.clear)


def _portal() -> _Portal:
    with _making:
        if not _portals:
            _portals.append(_Portal())
        return _portals[0]


def run(asked: Coroutine[Any, Any, T]) -> T:
    """Has something done in the loop, and waits for it. If the waiting is interrupted, it is cancelled."""
    portal = _portal()
    if threading.current_thread() is portal.thread:
        asked.close()
        raise RuntimeError("this would wait for the thread that it runs in: use tenure.aio there")
    future = asyncio.run_coroutine_threadsafe(asked, portal.loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def within(asked: Coroutine[Any, Any, T], timeout: float | None) -> T | None:
    """What comes of it in so many seconds, or None."""
    try:
        return await asyncio.wait_for(asked, timeout)
    except asyncio.TimeoutError:
        return None


def each(items: AsyncIterator[T]) -> Iterator[T]:
    """The items, one at a time."""
    end = object()

    async def following() -> object:
        return await anext(items, end)

    while (item := run(following())) is not end:
        yield cast(T, item)
