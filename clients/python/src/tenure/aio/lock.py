"""Acquires locks, and runs work only while they are held."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from tenure import v1
from tenure.aio.guard import Cancelling, Guard, Hold
from tenure.clock import Seconds, seconds
from tenure.declare import Busy, Target
from tenure.error import LostError, TenureError, UnavailableError
from tenure.options.session import declared_claim
from tenure.progress import check_stall_after
from tenure.protocol import Item
from tenure.session import SessionView

T = TypeVar("T")

log = logging.getLogger("tenure")

#: The upper bound of a wait, in seconds: clocks cannot represent all durations.
LONGEST_WAIT = 10 * 365 * 86_400.0


class LockRequest(contextlib.AsyncContextDecorator):
    """A request for one or more locks. Nothing is requested before one of its methods is awaited, or it is entered.

    As a context manager, and as a decorator of a function, it waits for the locks, returns the hold, and releases the
    locks. If the hold is lost meanwhile, the body is cancelled before the server could grant the locks to others, and
    the context manager raises LostError. The body must itself stop work that it started elsewhere (threads, processes,
    other tasks). A call that is cancelled leaves nothing behind: what was requested is withdrawn in the background,
    even if it has just been granted.
    """

    def __init__(
        self, target: Target, session: SessionView | None, names: Iterable[str], options: Mapping[str, Any]
    ) -> None:
        self._target = target
        self._session = session
        self._claim = declared_claim(names, options)
        self._stall_after: Seconds | None = options.get("stall_after")
        check_stall_after(self._stall_after)
        #: The last claim that was declared for it.
        self.declared: Item | None = None
        #: The scopes that each task has entered.
        self._scopes: dict[asyncio.Task[object] | None, list[contextlib.AbstractAsyncContextManager[Hold]]] = {}

    async def acquire(self) -> Guard:
        """Waits for the locks, for as long as it takes.

        LostError if the session was lost while waiting; RefusedError; UnavailableError if no session could be opened in
        time.
        """
        guard = await self._acquire(None)
        if isinstance(guard, Busy):
            raise UnavailableError("the wait was ended by the server")
        return guard

    async def try_acquire(self) -> Guard | Busy:
        """Makes one attempt. Locks held by another claim are no error: then it returns Busy, which is false."""
        return await self._acquire(0.0)

    async def acquire_within(self, wait: Seconds) -> Guard | Busy:
        """Waits for the locks, at most this long (at most 10 years)."""
        return await self._acquire(min(max(seconds(wait, "wait"), 0.0), LONGEST_WAIT))

    async def run(self, body: Callable[[Hold], Awaitable[T]]) -> T:
        """Waits for the locks, runs `body` while they are held, and releases them. LostError if the body was cancelled
        because the hold was lost."""
        async with self as hold:
            return await body(hold)

    async def try_run(self, body: Callable[[Hold], Awaitable[T]]) -> T | Busy:
        """Makes one attempt; if the locks are free, runs `body` as `run` does, and returns its result. Otherwise
        returns Busy."""
        guard = await self.try_acquire()
        if isinstance(guard, Busy):
            return guard
        async with _holding(guard) as hold:
            return await body(hold)

    async def __aenter__(self) -> Hold:
        scope = _holding(await self.acquire())
        hold = await scope.__aenter__()
        self._scopes.setdefault(asyncio.current_task(), []).append(scope)
        return hold

    async def __aexit__(self, *exception: Any) -> None:
        task = asyncio.current_task()
        scope = self._scopes[task].pop()
        if not self._scopes[task]:
            del self._scopes[task]
        await scope.__aexit__(*exception)

    async def _acquire(self, wait: float | None) -> Guard | Busy:
        claim = v1.DeclaredClaim()
        claim.CopyFrom(self._claim)
        claim.queue = wait != 0
        part = await self._target.obtain(claim, self._stall_after, wait, self._was_declared)
        if isinstance(part, Busy):
            return part
        return Guard(part, self._session or SessionView(part.item.session, self._target.open))

    def _was_declared(self, claim: Item) -> None:
        self.declared = claim


@contextlib.asynccontextmanager
async def _holding(guard: Guard) -> AsyncIterator[Hold]:
    """Cancels the body when the hold is lost, and releases the locks."""
    try:
        async with Cancelling(guard.lost()):
            yield guard.hold
    finally:
        lost = guard.lost_reason
        try:
            await guard.release()
        except TenureError as problem:
            if lost is None:
                # The body did run under the lock.
                log.warning("the lock was not released cleanly: %s", problem)
    if lost is not None:
        raise LostError(lost)
