"""Asking for locks, and running something only while they are held."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from tenure import clock
from tenure._engine.claims import AcquireSpec, Grant
from tenure.aio._waiting import Cancelling, replying
from tenure.aio.guard import Guard, Hold, give_back
from tenure.clock import Seconds, nanoseconds
from tenure.errors import LostError, TenureError, UnavailableError
from tenure.model import Busy

if TYPE_CHECKING:
    from tenure.aio.session import Session

T = TypeVar("T")

log = logging.getLogger("tenure")


@dataclass(frozen=True)
class Done(Generic[T]):
    """The body ran to its end."""

    value: T

    def __bool__(self) -> Literal[True]:
        return True


class LockRequest:
    """What to ask for, and how. Nothing is asked before one of its methods is awaited, or it is entered.

    As a context manager it waits for the locks, gives the hold, and gives the locks back. If the hold is lost meanwhile, the body
    is cancelled before the server could give the locks to others, and the context manager raises LostError; work that the body
    started elsewhere (threads, processes, other tasks) it must stop itself. Cancelling a call gives up: what was or is being
    granted is given back in the background.

    Tasks that ask for the same name in the same session queue up in the client, in order of arrival.
    """

    def __init__(self, session: Callable[[], Awaitable[Session]], spec: AcquireSpec, *, is_own: bool) -> None:
        self._session = session
        self._spec = spec
        #: Whether the session is there for this request only.
        self._is_own = is_own
        #: What each task that has entered it is in.
        self._scopes: dict[asyncio.Task[object] | None, list[HoldScope]] = {}

    async def acquire(self) -> Guard:
        """Waits for the locks, for as long as it takes. LostError if the session was lost while waiting."""
        guard = await self._ask(None)
        if isinstance(guard, Busy):
            raise UnavailableError("the wait was ended by the server")
        return guard

    async def try_acquire(self) -> Guard | Busy:
        """Tries once. That somebody else holds the locks is no error: then it is Busy, which is false."""
        return await self._ask(0)

    async def acquire_within(self, wait: Seconds) -> Guard | Busy:
        """Waits for the locks, at most this long (at most 365 days)."""
        return await self._ask(max(nanoseconds(wait), 0))

    async def run(self, body: Callable[[Hold], Awaitable[T]]) -> T:
        """Waits for the locks, runs `body` while they are held, and gives them back. LostError if the body was cancelled."""
        async with HoldScope(await self.acquire()) as hold:
            return await body(hold)

    async def try_run(self, body: Callable[[Hold], Awaitable[T]]) -> Done[T] | Busy:
        """Tries once; if the locks are free, runs `body` as `run` does."""
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

    async def _ask(self, wait: int | None) -> Guard | Busy:
        session = await self._session()
        try:
            granted = await self._ask_in(session, wait)
        except BaseException:
            self._let_go(session)
            raise
        if isinstance(granted, Busy):
            self._let_go(session)
            return granted
        return Guard(session, granted, owns_session=self._is_own)

    def _let_go(self, session: Session) -> None:
        if self._is_own:
            session.close_in_background()

    async def _ask_in(self, session: Session, wait: int | None) -> Grant | Busy:
        connection = session._connection
        connection.check_open()
        future: asyncio.Future[Grant | Busy] = connection.loop.create_future()
        claims = connection.engine.claims
        entry = claims.acquire(session._live, self._spec, wait, connection.call_timeout, replying(future), clock.now())
        connection.wake()
        try:
            return await future
        except asyncio.CancelledError:
            # Wherever it stands: it may have been granted in the same moment.
            if entry is not None:
                give_back(session, entry, owns_session=False)
            raise


class HoldScope:
    """Cancels the body when the hold is lost, and gives the locks back."""

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
        if lost is None:
            try:
                await self._guard.release()
            except TenureError as problem:
                # The body did run under the lock.
                log.warning("the lock was not given back cleanly: %s", problem)
            return
        self._guard.drop()
        if kind is None or is_ours:
            raise LostError(lost) from error
