"""Waiting in tests: for conditions, with deadlines."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenure import Lock
from tenure.aio import Client
from tests.integration.server import PATIENCE

T = TypeVar("T")


async def soon(awaited: Awaitable[T]) -> T:
    """What comes of it, in time."""
    return await asyncio.wait_for(awaited, PATIENCE)


async def lock_until(client: Client, name: str, is_met: Callable[[Lock], bool]) -> Lock:
    """Reads a lock, again and again, until it is so."""

    async def read() -> Lock:
        while not is_met(lock := await client.get_lock(name)):
            await asyncio.sleep(0.01)
        return lock

    return await soon(read())


async def waiting(client: Client, name: str, count: int = 1) -> Lock:
    """Until so many wait for a lock."""
    return await lock_until(client, name, lambda lock: lock.waiter_count == count)


async def vacant(client: Client, name: str) -> Lock:
    """Until nobody holds a lock or waits for it."""
    return await lock_until(client, name, lambda lock: not lock.holders and not lock.waiters)
