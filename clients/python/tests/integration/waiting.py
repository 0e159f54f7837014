"""Waiting in tests: for conditions, with deadlines."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenure import v1
from tenure.aio import Client
from tests.integration.server import PATIENCE

T = TypeVar("T")


async def soon(awaited: Awaitable[T]) -> T:
    """The result, in time."""
    return await asyncio.wait_for(awaited, PATIENCE)


async def met(condition: Callable[[], bool]) -> None:
    """Waits for a condition."""

    async def poll() -> None:
        while not condition():
            await asyncio.sleep(0.01)

    await soon(poll())


async def lock_until(client: Client, name: str, is_met: Callable[[v1.Lock], bool]) -> v1.Lock:
    """Reads a lock repeatedly, until a condition holds."""

    async def read() -> v1.Lock:
        while not is_met(lock := await client.get_lock(name)):
            await asyncio.sleep(0.01)
        return lock

    return await soon(read())


async def waiting(client: Client, name: str, count: int = 1) -> v1.Lock:
    """Until a lock has this number of waiters."""
    return await lock_until(client, name, lambda lock: lock.waiter_count == count)


async def vacant(client: Client, name: str) -> v1.Lock:
    """Until a lock has neither holders nor waiters."""
    return await lock_until(client, name, lambda lock: not lock.holders and not lock.waiters)


def holder(lock: v1.Lock) -> v1.Claim:
    """The only holder of a lock."""
    (claim,) = lock.holders
    return claim
