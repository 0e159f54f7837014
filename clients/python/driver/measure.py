"""Times of acquires and releases, beside those of plain calls."""

import asyncio
import time
from typing import Any

import grpc.aio

from driver.things import Things

#: The first calls on a channel take longer: so many are not measured.
WARM_UP = 20


def us_since(start: int) -> int:
    return (time.monotonic_ns() - start) // 1000


async def measure(request: dict[str, Any], things: Things) -> dict[str, Any]:
    session, pairs, calls = things.sessions[request["session"]], list[int](), list[int]()
    target = request["endpoint"].removeprefix("http://")
    async with grpc.aio.insecure_channel(target, options=[("grpc.enable_http_proxy", 0)]) as channel:
        # Without serializers: the empty request is no bytes, and the response is not read.
        check: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
        for _ in range(WARM_UP):
            await check(b"")
        for _ in range(request["turns"]):
            start = time.monotonic_ns()
            await (await session.lock("measured").acquire()).release()
            pairs.append(us_since(start))
            start = time.monotonic_ns()
            await check(b"")
            calls.append(us_since(start))
    return {"pairs_us": pairs, "calls_us": calls}


async def hold_many(request: dict[str, Any], things: Things) -> dict[str, Any]:
    session = things.sessions[request["session"]]
    start = time.monotonic_ns()
    guards = await asyncio.gather(*(session.lock(f"many-{n}").acquire() for n in range(request["count"])))
    held = us_since(start)
    start = time.monotonic_ns()
    await asyncio.gather(*(guard.release() for guard in guards))
    return {"held_us": held, "released_us": us_since(start)}


MEASUREMENTS = {
    "measure": measure,
    "hold_many": hold_many,
}
