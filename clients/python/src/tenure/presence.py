"""Waiting in the event loop for what becomes of an item."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, TypeVar

from tenure import clock
from tenure.error import Lost
from tenure.protocol import Item

T = TypeVar("T")

#: The event loop's timers stop while the machine is suspended, so the clock is read at least this often, in seconds.
LONGEST_NAP = 1.0


def notify(item: Item) -> None:
    """Wakes those who wait for a change of the item."""
    for future in tuple(item.waiters):
        resolve(future)


def resolve(future: "asyncio.Future[None]") -> None:
    """Resolves a future, unless it was cancelled or resolved before."""
    if not future.done():
        future.set_result(None)


async def wait(item: Item, look: Callable[[], T | None], *moments: float | None) -> T:
    """Waits until `look` finds something. It is called after each change of the item or its session, at the moments of
    their validity, and at those given. Reads the clock itself, so that it depends on no other task to be on time."""
    loop = asyncio.get_running_loop()
    while (found := look()) is None:
        now, validity = clock.now(), item.session.validity
        ends = (None, None) if validity is None else (validity.at_risk_from, validity.until)
        naps = [moment - now for moment in (*moments, *ends) if moment is not None and moment > now]
        future: asyncio.Future[None] = loop.create_future()
        item.waiters.add(future)
        item.session.waiters.add(future)
        timer = loop.call_later(min(LONGEST_NAP, *naps, LONGEST_NAP), resolve, future)
        try:
            await future
        finally:
            timer.cancel()
            item.waiters.discard(future)
            item.session.waiters.discard(future)
    return found


async def changes(item: Item, read: Callable[[], T]) -> AsyncGenerator[T, None]:
    """What `read` returns, now and after each change of it. A slow reader sees the latest."""
    last: list[T] = []

    def look() -> list[T] | None:
        latest = [read()]
        return None if latest == last else latest

    while True:
        last = await wait(item, look)
        yield last[0]


async def first(*awaited: Coroutine[Any, Any, object], timeout: float | None = None) -> bool:
    """Waits for the first of these, at most so many seconds, and cancels the others. Returns whether there was one, and
    raises its error."""
    tasks = {asyncio.ensure_future(one) for one in awaited}
    try:
        done, _ = await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def lost(item: Item) -> Lost:
    """Waits until it is lost: before the server could end it, or as soon as the server reports the end."""
    return await wait(item, item.lost_reason)
