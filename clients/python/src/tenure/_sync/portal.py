"""The event loop behind the clients for threads: one thread for all of them in a process."""

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar, cast

from tenure._link.connection import EXIT_LIMIT, Connection
from tenure._link.process import Origin, keep_for_ever, users_of_grpc
from tenure.clock import SECOND

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


def _forked() -> None:
    """A child has no such thread, and another one of the parent may have held the lock."""
    global _making
    _making = threading.Lock()
    # Its loop shares a poller with the parent, so it is neither closed nor collected.
    for portal in _portals:
        keep_for_ever(portal)
    _portals.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _close_at_exit() -> None:
    """Closes what is left open when the interpreter ends, so that what it holds need not wait for its TTL."""
    if not _portals:
        return
    loop = _portals[0].loop
    left = [one for one in users_of_grpc() if isinstance(one, Connection) and one.loop is loop and not one.is_closed]

    async def close() -> None:
        closing = [one.shut_down() for one in left if one.warn_of_open_sessions()]
        await asyncio.wait_for(asyncio.gather(*closing, return_exceptions=True), EXIT_LIMIT / SECOND)

    if left:
        # The extra time is for a loop that is blocked: the program ends all the same.
        with contextlib.suppress(TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError):
            asyncio.run_coroutine_threadsafe(close(), loop).result(EXIT_LIMIT / SECOND * 1.5)


atexit.register(_close_at_exit)


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
    origin = Origin()

    async def following() -> object:
        return await anext(items, end)

    while (item := run(following())) is not end:
        yield cast(T, item)
        origin.check()
