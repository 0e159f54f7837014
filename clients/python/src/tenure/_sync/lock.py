"""Acquires locks, and runs work only while they are held."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from tenure._sync.guard import Guard, Hold
from tenure._sync.portal import obtaining
from tenure.aio import guard as aio_guard
from tenure.aio import lock as aio
from tenure.aio.lock import Done
from tenure.declare import Busy
from tenure.error import LostError, TenureError

T = TypeVar("T")

log = logging.getLogger("tenure")


def _attempt(outcome: aio_guard.Guard | Busy) -> Guard | Busy:
    return outcome if isinstance(outcome, Busy) else Guard(outcome)


class LockRequest:
    """A request for one or more locks. Nothing is requested before one of its methods is called, or it is entered.

    As a context manager it waits for the locks, returns the hold, and releases the locks. A thread cannot be cancelled: a long body
    must check the hold (`check` between its steps, or `lost` in another thread) and stop. If the hold was lost meanwhile, the context
    manager raises LostError at the end of the body, unless the body itself raises another error.
    """

    def __init__(self, request: aio.LockRequest) -> None:
        self._inner = request
        self._local = threading.local()

    acquire = obtaining(Guard, aio.LockRequest.acquire)
    try_acquire = obtaining(_attempt, aio.LockRequest.try_acquire)
    acquire_within = obtaining(_attempt, aio.LockRequest.acquire_within)

    def run(self, body: Callable[[Hold], T]) -> T:
        """Waits for the locks, runs `body` while they are held, and releases them. LostError if the hold was lost meanwhile."""
        with self as hold:
            return body(hold)

    def try_run(self, body: Callable[[Hold], T]) -> Done[T] | Busy:
        """Makes one attempt; if the locks are free, runs `body` as `run` does."""
        guard = self.try_acquire()
        if isinstance(guard, Busy):
            return guard
        with _Scope(guard):
            return Done(body(guard.hold))

    def __enter__(self) -> Hold:
        guard = self.acquire()
        self._scopes().append(_Scope(guard))
        return guard.hold

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._scopes().pop().__exit__(kind, error, traceback)

    def _scopes(self) -> list[_Scope]:
        """Those that this thread has entered."""
        scopes: list[_Scope] = self._local.__dict__.setdefault("scopes", [])
        return scopes


class _Scope:
    """Releases the locks, and raises LostError if they were lost."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        lost = self._guard.lost_reason
        try:
            self._guard.release()
        except TenureError as problem:
            if lost is None:
                # The body did run under the lock.
                log.warning("the lock was not released cleanly: %s", problem)
        if lost is not None and (kind is None or issubclass(kind, LostError)):
            raise LostError(lost) from error
