"""Watching who holds what, as it changes."""

import asyncio
import contextlib
from collections.abc import Iterable
from types import TracebackType

from typing_extensions import Self

from tenure import clock
from tenure._engine.watches import Watched
from tenure._link.connection import Connection
from tenure.model import WatchItem


class Watch:
    """What happens: each revision once and in order, across reconnects. It ends when the client or the watch is closed, and with an
    error that trying again cannot cure.

    A reader that is slow loses nothing: the server is asked again from where the reader is. `close` it, or use it as a context
    manager.
    """

    def __init__(
        self,
        connection: Connection,
        names: Iterable[str],
        prefixes: Iterable[str],
        groups: Iterable[str],
        after_revision: int,
    ) -> None:
        connection.check_open()
        self._connection = connection
        self._told = asyncio.Event()
        self._watched = Watched(tuple(names), tuple(prefixes), tuple(groups), after_revision, self._told.set)
        connection.engine.watches.start(self._watched, clock.now())
        connection.wake()

    def close(self) -> None:
        """Ends the watch."""
        if not self._connection.origin.is_here:
            return
        self._connection.engine.watches.drop(self._watched)
        self._connection.wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchItem:
        self._connection.origin.check()
        watched = self._watched
        while not watched.items:
            if watched.is_over:
                error, watched.error = watched.error, None
                raise error or StopAsyncIteration
            self._told.clear()
            await self._told.wait()
        was_paused = watched.is_paused
        item = self._connection.engine.watches.next(watched, clock.now())
        if was_paused:
            self._connection.wake()
        if item is None:
            raise StopAsyncIteration
        return item

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        watched = getattr(self, "_watched", None)
        if watched is not None and not watched.is_over and self._connection.origin.is_here:
            with contextlib.suppress(RuntimeError):
                self._connection.loop.call_soon_threadsafe(self._connection.engine.watches.drop, watched)
