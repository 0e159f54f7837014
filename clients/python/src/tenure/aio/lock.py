"""Acquires locks, and runs work only while they are held."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from tenure import v1
from tenure.aio.guard import Cancelling, Guard, Hold
from tenure.clock import Seconds, seconds
from tenure.declare import Busy, Declarer
from tenure.error import LostError, TenureError, UnavailableError
from tenure.options.session import declared_claim, progress_within

if TYPE_CHECKING:
    from tenure.aio.session import Session

T = TypeVar("T")

log = logging.getLogger("tenure")

#: The upper bound of a wait, in seconds: clocks cannot represent all durations.
LONGEST_WAIT = 10 * 365 * 86_400.0


@dataclass(frozen=True)
class Done(Generic[T]):
    """The body has run to its end."""

    value: T

    def __bool__(self) -> Literal[True]:
        return True


class LockRequest:
    """A request for one or more locks. Nothing is requested before one of its methods is awaited, or it is entered.

    As a context manager it waits for the locks, returns the hold, and releases the locks. If the hold is lost meanwhile, the body is
    cancelled before the server could grant the locks to others, and the context manager raises LostError. The body must itself stop
    work that it started elsewhere (threads, processes, other tasks). A call that is cancelled leaves nothing behind: what was
    requested is withdrawn in the background, even if it has just been granted.
    """

    def __init__(
        self, declarer: Declarer, session: Session | None, claim: v1.DeclaredClaim, stall_after: Seconds | None
    ) -> None:
        progress_within(stall_after)
        self._declarer = declarer
        self._session = session
        self._claim = claim
        self._stall_after = stall_after
        #: The scopes that each task has entered.
        self._scopes: dict[asyncio.Task[object] | None, list[HoldScope]] = {}

    async def acquire(self) -> Guard:
        """Waits for the locks, for as long as it takes.

        LostError if the session was lost while waiting; RefusedError; UnavailableError if no session could be opened in time.
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
        """Waits for the locks, runs `body` while they are held, and releases them. LostError if the body was cancelled because the
        hold was lost."""
        async with HoldScope(await self.acquire()) as hold:
            return await body(hold)

    async def try_run(self, body: Callable[[Hold], Awaitable[T]]) -> Done[T] | Busy:
        """Makes one attempt; if the locks are free, runs `body` as `run` does."""
        guard = await self.try_acquire()
        if isinstance(guard, Busy):
            return guard
        async with HoldScope(guard) as hold:
            return Done(await body(hold))

    async def __aenter__(self) -> Hold:
        scope = HoldScope(await self.acquire())
        hold = await scope.__aenter__()
        self._scopes.setdefault(asyncio.current_task(), []).append(scope)
        return hold

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        task = asyncio.current_task()
        scope = self._scopes[task].pop()
        if not self._scopes[task]:
            del self._scopes[task]
        await scope.__aexit__(kind, error, traceback)

    async def _acquire(self, wait: float | None) -> Guard | Busy:
        from tenure.aio.session import Session

        claim = v1.DeclaredClaim()
        claim.CopyFrom(self._claim)
        claim.queue = wait != 0
        # Each attempt has a session and progress of its own.
        progress = progress_within(self._stall_after)
        part = await self._declarer.obtain(claim, (None, progress), wait)
        if isinstance(part, Busy):
            return part
        if self._session is not None:
            return Guard(part, self._session)
        return Guard(part, Session(part, self._declarer.open or v1.DeclaredSession(), is_own=True))


def lock_request(
    declarer: Declarer,
    session: Session | None,
    names: Iterable[str],
    stall_after: Seconds | None = None,
    **options: Any,
) -> LockRequest:
    """A request with these options."""
    return LockRequest(declarer, session, declared_claim(names, **options), stall_after)


class HoldScope:
    """Cancels the body when the hold is lost, and releases the locks."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._cancelling = Cancelling(guard.lost())

    async def __aenter__(self) -> Hold:
        await self._cancelling.__aenter__()
        return self._guard.hold

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        is_ours = await self._cancelling.__aexit__(kind, error, traceback)
        lost = self._guard.lost_reason
        try:
            await self._guard.release()
        except TenureError as problem:
            if lost is None:
                # The body did run under the lock.
                log.warning("the lock was not released cleanly: %s", problem)
        if lost is not None and (kind is None or is_ours):
            raise LostError(lost) from error
