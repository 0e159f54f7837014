"""One plain call to the server that the stream is connected to, tried again elsewhere until the call's deadline."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc
import grpc.aio

from tenure._engine.pauses import backoff
from tenure._link.connection import Connection
from tenure._link.process import Origin
from tenure.clock import SECOND
from tenure.errors import TenureError, UnavailableError
from tenure.status import error_of

A = TypeVar("A")


async def call(
    connection: Connection,
    ask: Callable[[grpc.aio.Channel, float], Awaitable[A]],
    *,
    is_safe: bool = True,
    wait: int = 0,
) -> A:
    """Has `ask` call over a channel, with a time-out in seconds. A call that is not safe is repeated only if it surely had no
    effect. A wait is what the server takes before it answers."""
    loop = connection.loop
    deadline = loop.time() + (connection.call_timeout + wait) / SECOND
    pauses = backoff()
    while True:
        channel, line_changed = await connection.channel(deadline)
        error = await _once(ask, channel, deadline - loop.time(), line_changed if is_safe else None)
        if not isinstance(error, TenureError):
            if error is None:
                continue
            return error[0]
        again = is_safe if isinstance(error, UnavailableError) else error.is_transient
        pause = pauses.next_pause() / SECOND
        if not again or loop.time() + pause >= deadline:
            raise error
        await asyncio.sleep(pause)


async def _once(
    ask: Callable[[grpc.aio.Channel, float], Awaitable[A]],
    channel: grpc.aio.Channel,
    timeout: float,
    line_changed: asyncio.Event | None,
) -> tuple[A] | TenureError | None:
    """The answer, or why there is none. None if the stream has noticed that the server is gone: no need to wait for this call's
    deadline."""
    origin = Origin()
    answering = asyncio.ensure_future(_ask(ask, channel, timeout))
    watching = asyncio.ensure_future(line_changed.wait()) if line_changed is not None else None
    try:
        await asyncio.wait({answering, watching} - {None}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)  # type: ignore[type-var]
        if answering.done():
            return answering.result()
        return None if watching is not None and watching.done() else UnavailableError("the server did not answer")
    finally:
        for task in (answering, watching):
            # A call of the process before a fork is not this one's to cancel.
            if task is not None and origin.is_here:
                task.cancel()


async def _ask(
    ask: Callable[[grpc.aio.Channel, float], Awaitable[A]], channel: grpc.aio.Channel, timeout: float
) -> tuple[A] | TenureError:
    with contextlib.suppress(asyncio.CancelledError):
        try:
            return (await ask(channel, timeout),)
        except grpc.aio.AioRpcError as failure:
            return error_of(failure)
        except grpc.aio.UsageError as failure:
            return UnavailableError(str(failure))
        except UnavailableError as error:
            # The token cannot be read; perhaps it is just being replaced.
            return error
    # The channel was closed under it.
    return UnavailableError("the connection was closed")
