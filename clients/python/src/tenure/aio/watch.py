"""Watches of locks and groups."""

import asyncio
from typing import Any

import grpc.aio
from typing_extensions import Self

from tenure import clock, v1
from tenure.backoff import Backoff
from tenure.connection import Connection, reply_of
from tenure.error import ClosedError, TenureError, UnavailableError


class Watch:
    """Events: each revision once and in order, across reconnects. It ends when the client or the watch is closed, and
    after an error that a retry cannot fix.

    The parts of a snapshot are joined to one. A slow reader misses nothing: flow control stops the server, and the
    watch is resumed after the last revision that the reader has received. `close` it, or use it as a context manager.
    """

    def __init__(self, connection: Connection, request: v1.WatchRequest) -> None:
        self._connection = connection
        self._request = v1.WatchRequest()
        self._request.CopyFrom(request)
        self._request.namespace = connection.target.namespace
        self._backoff = Backoff()
        self._call: grpc.aio.UnaryStreamCall[v1.WatchRequest, v1.WatchResponse] | None = None
        self._left = asyncio.Event()
        self._next: asyncio.Task[v1.WatchResponse] | None = None
        self._is_closed = False

    def close(self) -> None:
        """Ends the watch."""
        if self._connection.forked_from is None and not self._is_closed:
            self._is_closed = True
            self._disconnect()
            if self._next is not None:
                self._next.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> v1.WatchResponse:
        if self._is_closed:
            raise StopAsyncIteration
        try:
            self._connection.check()
            self._next = asyncio.ensure_future(self._following())
            return await self._next
        except ClosedError:
            raise StopAsyncIteration from None
        except asyncio.CancelledError:
            self._disconnect()
            if self._is_closed:
                raise StopAsyncIteration from None
            raise

    async def _following(self) -> v1.WatchResponse:
        while True:
            try:
                return await self._read()
            except TenureError as error:
                self._disconnect()
                if not error.is_transient:
                    self._is_closed = True
                    raise
            await asyncio.sleep(self._backoff.next_pause())

    async def _read(self) -> v1.WatchResponse:
        """The next response of the server that the connection uses, until it leaves that server."""
        whole = v1.Snapshot()
        locks: dict[str, v1.Lock] = {}
        while True:
            if self._call is None:
                channel, self._left = await self._connection.channel(clock.now() + self._connection.call_timeout)
                start: Any = channel.unary_stream(
                    "/tenure.v1.WatchService/Watch", v1.WatchRequest.SerializeToString, v1.WatchResponse.FromString
                )
                self._call = start(self._request, metadata=self._connection.signature())
            response = await reply_of(self._call.read(), self._left)
            if not isinstance(response, v1.WatchResponse):
                raise UnavailableError("the server ended the watch")
            self._backoff.reset()
            if response.HasField("snapshot"):
                # Of a lock that changed between two parts, the last state counts.
                locks.update((lock.name, lock) for lock in response.snapshot.locks)
                whole.groups.extend(response.snapshot.groups)
                if response.snapshot.more:
                    continue
                whole.locks.extend(locks.values())
                response.snapshot.CopyFrom(whole)
            self._request.after_revision = 0 if response.HasField("history_gone") else response.revision
            return response

    def _disconnect(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
