"""The event loop behind the clients for threads, one thread for all of them in a process, and the bridges to it."""

import asyncio
import atexit
import concurrent.futures
import contextlib
import functools
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast

from typing_extensions import Self

from tenure import process
from tenure.transport.driver import DRIVER, EXIT_LIMIT

A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
C = TypeVar("C", bound=contextlib.AbstractAsyncContextManager[Any])
P = ParamSpec("P")


class Within(Protocol[T_co]):
    """A method with a timeout in seconds, after which it returns None."""

    def __call__(self, timeout: float | None = None) -> T_co | None: ...


class _Portal:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="tenure", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


_portals: list[_Portal] = []
_making = threading.Lock()


def _forked() -> None:
    """A child has no such thread, and another thread of the parent may have held the lock."""
    global _making
    _making = threading.Lock()
    # Its loop shares a poller with the parent, so it is neither closed nor collected.
    for portal in _portals:
        process.keep_forever(portal)
    _portals.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _close_at_exit() -> None:
    """Closes what is left open when the interpreter ends, so that its locks need not wait for their TTLs."""
    for portal in _portals:
        # The extra time is for a loop that is blocked: the program ends all the same.
        concurrent.futures.wait({asyncio.run_coroutine_threadsafe(_end_drivers(), portal.loop)}, EXIT_LIMIT * 1.5)


async def _end_drivers() -> None:
    drivers = {driver for driver in asyncio.all_tasks() if driver.get_name() == DRIVER}
    for driver in drivers:
        driver.cancel()
    if drivers:
        await asyncio.wait(drivers)


atexit.register(_close_at_exit)


def run(asked: Coroutine[Any, Any, T]) -> T:
    """Runs something in the loop, and waits for it. If the wait is interrupted, as by Ctrl-C, it is cancelled, and what
    has been obtained meanwhile is dropped."""
    with _making:
        if not _portals:
            _portals.append(_Portal())
        portal = _portals[0]
    if threading.current_thread() is portal.thread:
        asked.close()
        raise RuntimeError("this would wait for the thread that it runs in: use tenure.aio there")
    call = _Call(asked)
    try:
        portal.loop.call_soon_threadsafe(call.begin)
        call.done.acquire()
    except BaseException:
        portal.loop.call_soon_threadsafe(call.leave)
        raise
    if call.error is not None:
        raise call.error
    return cast(T, call.result)


class _Call:
    """Something that runs in the loop, for a thread that waits for it. Everything but the wait happens in the loop."""

    def __init__(self, asked: Coroutine[Any, Any, object]) -> None:
        self._asked = asked
        self._task: asyncio.Task[object] | None = None
        #: A lock that is released at the end: an interrupted wait for it leaves nothing locked, unlike one for a
        #: Condition.
        self.done = threading.Lock()
        self.done.acquire()
        self.result: object = None
        self.error: BaseException | None = None

    def begin(self) -> None:
        self._task = asyncio.ensure_future(self._asked)
        self._task.add_done_callback(self._end)

    def leave(self) -> None:
        """The thread has left: whatever was obtained for it is withdrawn."""
        if self._task is None:
            self._asked.close()
        else:
            self._task.cancel()
            self._task.add_done_callback(lambda _: self._drop())

    def _end(self, task: asyncio.Task[object]) -> None:
        if task.cancelled():
            self.error = concurrent.futures.CancelledError()
        elif (error := task.exception()) is not None:
            self.error = error
        else:
            self.result = task.result()
        self.done.release()

    def _drop(self) -> None:
        if (part := getattr(self.result, "_part", None)) is not None:
            part.drop()


async def within(asked: Coroutine[Any, Any, T], timeout: float | None) -> T | None:
    """The result, or None if there is none within so many seconds."""
    try:
        return await asyncio.wait_for(asked, timeout)
    except asyncio.TimeoutError:
        return None


def each(items: AsyncIterator[T]) -> Iterator[T]:
    """The items, one at a time."""
    end = object()

    async def following() -> object:
        return await anext(items, end)

    while (item := run(following())) is not end:
        yield cast(T, item)


class Entered(Generic[C]):
    """A bridge to a context manager, which is one itself."""

    def __init__(self, inner: C) -> None:
        self._inner = inner

    def __enter__(self) -> Self:
        run(self._inner.__aenter__())
        return self

    def __exit__(self, *exception: Any) -> None:
        run(self._inner.__aexit__(*exception))


def _bridge(method: Callable[..., R], finish: Callable[[R], T]) -> Any:
    """A method that calls one of the inner object, and passes on what that returns."""

    @functools.wraps(method)
    def bridge(self: Any, *arguments: Any, **named: Any) -> T:
        return finish(method(self._inner, *arguments, **named))

    return bridge


def blocking(method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """A method that waits for one of the inner object."""
    return cast("Callable[Concatenate[Any, P], T]", _bridge(method, run))


def iterating(method: Callable[Concatenate[A, P], AsyncIterator[T]]) -> Callable[Concatenate[Any, P], Iterator[T]]:
    """A method that iterates over the items of one of the inner object."""
    return cast("Callable[Concatenate[Any, P], Iterator[T]]", _bridge(method, each))


def making(kind: Callable[[R], T], method: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[Any, P], T]:
    """A method that makes this kind of bridge to what one of the inner object returns."""
    return cast("Callable[Concatenate[Any, P], T]", _bridge(method, kind))


def obtaining(
    kind: Callable[[R], T], method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]]
) -> Callable[Concatenate[Any, P], T]:
    """The same for one that is waited for."""
    return making(lambda asked: kind(run(asked)), method)


def blocking_within(method: Callable[[A], Coroutine[Any, Any, T]]) -> Within[T]:
    """A method that waits for one of the inner object, with a timeout in seconds, after which it returns None."""

    @functools.wraps(method)
    def bridge(self: Any, timeout: float | None = None) -> T | None:
        return run(within(method(self._inner), timeout))

    return cast("Within[T]", bridge)
