"""The connection to the service, as its handles see it: what they declare, and plain calls beside the stream. The task
that owns the stream is in `transport`."""

from __future__ import annotations

import asyncio
import contextlib
import math
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, TypeVar

import grpc.aio

from tenure import clock, presence, process
from tenure.backoff import Backoff
from tenure.error import (
    ClosedError,
    ForkedError,
    InvalidError,
    Lost,
    LostReason,
    TenureError,
    UnavailableError,
    error_of,
)
from tenure.options.client import Destination
from tenure.progress import Progress
from tenure.protocol import Declared, End, Item, Protocol

A = TypeVar("A")
T = TypeVar("T")

#: How often, in seconds, it is checked, while there is no progress, whether there is again.
LOOK_FOR_PROGRESS = 0.02


def new_client_id() -> str:
    """The random id of a client, which no other program uses."""
    return str(uuid.uuid4())


class Connection:
    """One client's connection to one server at a time. It runs in the event loop in which it is used first."""

    def __init__(self, target: Destination, start: Callable[[Connection], asyncio.Task[None]]) -> None:
        process.register(self)
        self.target = target
        self.call_timeout = target.call_timeout
        self.protocol = Protocol(target.namespace, new_client_id())
        self.loop: asyncio.AbstractEventLoop | None = None
        #: Wakes the driver after a change.
        self.wake = asyncio.Event()
        self.driver: asyncio.Task[None] | None = None
        self._start = start
        #: The process before a fork to which it belongs, if this is another one.
        self.forked_from: int | None = None
        #: Until when everything is to be withdrawn, if the client is being closed.
        self._closing: float | None = None
        #: What needs progress, and the sessions without it.
        self._needs: set[Item] = set()
        self._stalled: set[Item] = set()
        self._channel: grpc.aio.Channel | TenureError = UnavailableError("not connected yet")
        self._channel_changed = asyncio.Event()

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be requested any more: the client was closed, or belongs to the process before a fork."""
        return self._closing is not None or self.forked_from is not None

    def check(self) -> None:
        """Begins to connect, in the current event loop. ForkedError, ClosedError or, in another event loop,
        RuntimeError if nothing can be requested."""
        if self.forked_from is not None:
            raise ForkedError("this client was made", self.forked_from, "make a Client after it")
        if self._closing is not None:
            raise ClosedError
        if self.loop is None:
            self.loop = asyncio.get_running_loop()
            self.driver = self._start(self)
        elif self.loop is not asyncio.get_running_loop():
            raise RuntimeError("this client is in use in another event loop: make one for each")

    def forked(self, pid: int) -> None:
        """This process is a child of `pid`, to which everything of this client belongs."""
        self.forked_from = pid
        for item in list(self.protocol.items.values()):
            item.lost = item.lost or Lost(LostReason.FORKED)

    def declare(
        self, open: Declared | None, session: Item | None, part: Declared | None, progress: Progress | None
    ) -> Item:
        """Declares a session, or something in one, or both. Returns the item of the last, and renews its session only
        while there is progress, if that is given."""
        self.check()
        item = self.protocol.declare(open=open, session=session, part=part)
        if progress is not None:
            item.progress = progress
            self._needs.add(item)
        self.dispatch()
        return item

    def withdraw(self, item: Item) -> None:
        """Withdraws an item, in the background."""
        if self.forked_from is None:
            self.protocol.withdraw(item, clock.now())
            self.dispatch()

    async def end(self, item: Item) -> End:
        """Waits for the end of what was withdrawn. UnavailableError if no server confirms it in time."""
        deadline = clock.now() + self.call_timeout

        def look() -> End | None:
            if item.end is None and clock.now() >= deadline:
                raise self.unanswered()
            return item.end

        return await presence.wait(item, look, deadline)

    def dispatch(self) -> None:
        """Passes on the changes of items, and wakes the driver."""
        while self.protocol.changed:
            item = self.protocol.changed.popleft()
            if item.since is None and (item.token or item.validity is not None):
                item.since = clock.now()
            if item.withdrawn is not None or item.end is not None:
                self._needs.discard(item)
            presence.notify(item)
        self.wake.set()

    def due(self, now: float) -> float | None:
        """Does what is due. Returns when to call it next, at the latest; None if the client is closed."""
        # First, because a keep-alive that is due must not renew a session without progress.
        self.check_progress(now)
        self.protocol.handle_timeout(now)
        self.dispatch()
        if self._closing is not None and (now >= self._closing or not self.protocol.items):
            return None
        look = now + LOOK_FOR_PROGRESS if self._stalled else math.inf
        return min(self.protocol.timeout, look, self._closing or math.inf)

    def check_progress(self, now: float) -> None:
        """Pauses the sessions without progress, and resumes the others."""
        before, self._stalled = self._stalled, set()
        for item in self._needs:
            if item.progress is not None and item.since is not None and item.progress.is_stalled(item.since, now):
                self._stalled.add(item.session)
        for session in self._stalled - before:
            self.protocol.pause(session, now)
        for session in before - self._stalled:
            self.protocol.resume(session, now)

    async def close(self) -> None:
        """Closes all sessions and ends all watches. UnavailableError if no server confirms it in time."""
        if self.forked_from is not None:
            return
        if self._closing is None:
            self._closing = clock.now() + self.call_timeout
            for item in list(self.protocol.items.values()):
                self.withdraw(item.session)
            self.wake.set()
        if self.driver is not None:
            await asyncio.wait({self.driver})
        if self.protocol.items:
            raise self.unanswered()

    def abandon(self) -> list[Item]:
        """Ends everything at once, because the event loop ends. Returns what the server still has."""
        self._closing = clock.now()
        items = list(self.protocol.items.values())
        for item in items:
            item.lost = item.lost_reason() or Lost(LostReason.CLOSED)
        return items

    def set_channel(self, channel: grpc.aio.Channel | TenureError) -> None:
        """The channel to the server that the stream is connected to, or why there is none."""
        self._channel = channel
        changed, self._channel_changed = self._channel_changed, asyncio.Event()
        changed.set()

    async def channel(self, deadline: float) -> tuple[grpc.aio.Channel, asyncio.Event]:
        """The channel to the server that the stream is connected to, and what is set when that changes. Waits for one
        until `deadline`, unless the credentials are rejected."""
        while True:
            self.check()
            if not isinstance(self._channel, TenureError):
                return self._channel, self._channel_changed
            left = deadline - clock.now()
            if left <= 0 or not self._channel.is_transient:
                raise self._channel
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._channel_changed.wait(), left)

    def unanswered(self) -> TenureError:
        """The error of a request without a reply."""
        is_error = isinstance(self._channel, TenureError)
        return self._channel if is_error else UnavailableError("the server did not answer")  # type: ignore[return-value]

    async def call(self, path: str, request: Any, reply: type[A], *, is_safe: bool = True, wait: float = 0.0) -> A:
        """Makes one call, such as "LockService/GetLock", to the server that the stream is connected to. Repeats it at
        other servers until its deadline; one that is not safe to repeat only if it certainly had no effect. `wait` is
        the time that the server may take before it replies."""
        request.namespace = self.target.namespace
        deadline, backoff = clock.now() + wait + self.call_timeout, Backoff()
        while True:
            channel, changed = await self.channel(deadline)
            try:
                asked = unary(channel, path, request, reply, deadline - clock.now(), self.signature())
                return await reply_of(asked, changed if is_safe else None)
            except TenureError as error:
                may_repeat = error.is_transient and (is_safe or not isinstance(error, UnavailableError))
                pause = backoff.next_pause()
                if not may_repeat or clock.now() + pause >= deadline:
                    raise
            await asyncio.sleep(pause)

    async def list(
        self, path: str, request: Any, reply: type[A], items: Callable[[A], Iterable[T]]
    ) -> AsyncIterator[T]:
        """The items of a list, page by page."""
        while True:
            page: Any = await self.call(path, request, reply)
            for item in items(page):
                yield item
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    def signature(self) -> grpc.aio.Metadata:
        """The headers of a call. UnavailableError if the token cannot be read: it may be replaced at this moment."""
        try:
            authorization = self.target.security.authorization()
        except InvalidError as error:
            raise UnavailableError(str(error)) from None
        return grpc.aio.Metadata(*([] if authorization is None else [("authorization", authorization)]))


def unary(
    channel: grpc.aio.Channel, path: str, request: Any, reply: type[A], timeout: float, signature: grpc.aio.Metadata
) -> Awaitable[A]:
    """One call to one server, with its timeout in seconds."""
    parse: Any = reply
    asked = channel.unary_unary(f"/tenure.v1.{path}", type(request).SerializeToString, parse.FromString)
    return asked(request, timeout=max(timeout, 0.0), metadata=signature)


async def reply_of(asked: Awaitable[T], changed: asyncio.Event | None) -> T:
    """What is received; UnavailableError once the stream has left the server, which may be silent."""
    reading = asyncio.ensure_future(asked)
    leaving = asyncio.ensure_future((changed or asyncio.Event()).wait())
    try:
        await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done() and not reading.cancelled():
            return reading.result()
        raise UnavailableError("the connection has left the server")
    except grpc.aio.AioRpcError as failure:
        raise error_of(failure) from None
    except grpc.aio.UsageError as failure:
        raise UnavailableError(str(failure)) from None
    finally:
        reading.cancel()
        leaving.cancel()
