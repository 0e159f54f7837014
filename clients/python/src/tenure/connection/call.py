"""Plain calls beside the stream, repeated until their deadline."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, TypeVar

import grpc.aio

from tenure import clock
from tenure.backoff import Backoff
from tenure.error import InvalidError, TenureError, UnavailableError, error_of
from tenure.options.client import Target

Q = TypeVar("Q")
A = TypeVar("A")
T = TypeVar("T")

#: A call of the contract, of the stubs for a channel.
Call = Callable[[grpc.aio.Channel], grpc.aio.UnaryUnaryMultiCallable[Q, A]]


class Calls(ABC):
    """Makes plain calls in the connection's namespace."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.namespace = target.namespace
        self.call_timeout = target.call_timeout

    @abstractmethod
    async def wire(self, deadline: float) -> tuple[grpc.aio.Channel, asyncio.Event]: ...

    async def call(self, call: Call[Q, A], request: Q, *, is_safe: bool = True, wait: float = 0.0) -> A:
        """Makes one call to the server that the stream is connected to. Repeats it at other servers until its deadline; one that is
        not safe to repeat only if it certainly had no effect. `wait` is the time that the server may take before it replies."""
        message: Any = request
        message.namespace = self.namespace
        deadline, backoff = clock.now() + wait + self.call_timeout, Backoff()
        while True:
            channel, changed = await self.wire(deadline)
            try:
                timeout = max(deadline - clock.now(), 0)
                asked = call(channel)(request, timeout=timeout, metadata=self.signature())
                return await reply_of(asked, changed if is_safe else None)
            except TenureError as error:
                may_repeat = error.is_transient and (is_safe or not isinstance(error, UnavailableError))
                pause = backoff.next_pause()
                if not may_repeat or clock.now() + pause >= deadline:
                    raise
            await asyncio.sleep(pause)

    async def list(self, call: Call[Q, A], request: Q, items: Callable[[A], Iterable[T]]) -> AsyncIterator[T]:
        """The items of a list, page by page."""
        message: Any = request
        while True:
            page: Any = await self.call(call, request)
            for item in items(page):
                yield item
            message.page_token = page.next_page_token
            if not message.page_token:
                return

    def signature(self) -> grpc.aio.Metadata:
        """The headers of a call. UnavailableError if the token cannot be read: it may be replaced at this moment."""
        try:
            authorization = self.target.security.authorization()
        except InvalidError as error:
            raise UnavailableError(str(error)) from None
        return grpc.aio.Metadata(*([] if authorization is None else [("authorization", authorization)]))


async def reply_of(asked: Awaitable[T], changed: asyncio.Event | None) -> T:
    """What is received; UnavailableError once the stream has left the server, which may be silent."""
    reading = asyncio.ensure_future(asked)
    leaving = None if changed is None else asyncio.ensure_future(changed.wait())
    try:
        await asyncio.wait({reading, leaving or reading}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done() and not reading.cancelled():
            return reading.result()
        raise UnavailableError("the connection has left the server")
    except grpc.aio.AioRpcError as failure:
        raise error_of(failure) from None
    except grpc.aio.UsageError as failure:
        raise UnavailableError(str(failure)) from None
    finally:
        reading.cancel()
        if leaving is not None:
            leaving.cancel()
