"""Watching who holds what, as it changes."""

from collections.abc import Callable
from types import TracebackType

from typing_extensions import Self

from tenure._sync.portal import run
from tenure.aio import watch as aio
from tenure.model import WatchItem


class Watch:
    """What happens: each revision once and in order, across reconnects. It ends when the client or the watch is closed, and with an
    error that trying again cannot cure. `close` it, or use it as a context manager."""

    def __init__(self, begin: Callable[[], aio.Watch]) -> None:
        async def begun() -> aio.Watch:
            return begin()

        self._watch = run(begun())

    def close(self) -> None:
        """Ends the watch, also for a thread that waits for its next item."""

        async def close() -> None:
            self._watch.close()

        run(close())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> WatchItem:
        async def following() -> WatchItem | None:
            return await anext(self._watch, None)

        item = run(following())
        if item is None:
            raise StopIteration
        return item

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
