"""Elections: one leader among several copies of a program."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, ParamSpec, TypeVar, cast

from typing_extensions import Self

from tenure._link.backoff import Backoff
from tenure.aio._jobs import Jobs, either
from tenure.aio._waiting import Cancelling
from tenure.aio.guard import Guard, Hold
from tenure.clock import MILLISECOND, NEVER, SECOND, Seconds, nanoseconds
from tenure.errors import InvalidError, Lost, LostError, LostReason, TenureError
from tenure.leader import Leader, leader_after
from tenure.model import Events, Snapshot
from tenure.request import ElectionOptions, LockOptions

if TYPE_CHECKING:
    from tenure.aio.client import Client

log = logging.getLogger("tenure")

P = ParamSpec("P")
T = TypeVar("T")

#: Pauses between campaigns that fail: from this ...
FIRST_PAUSE = 50 * MILLISECOND
#: ... to this.
LONGEST_PAUSE = 500 * MILLISECOND
#: A loop that waits for its next body tells that it goes on, so many times before it would count as stalled.
TICKS_WHILE_WAITING = 3

#: One term of leading, from an election won to its loss: `release` resigns, `transfer_to` steps down in favour of a candidate.
Leadership = Guard


class Election:
    """One candidate's part in an election. The leader is whoever holds the lock of the election's name.

    As a context manager it stands as a candidate in the background: functions that are `leader_only` then run while it leads.
    """

    def __init__(self, client: Client, name: str, options: ElectionOptions) -> None:
        self._client = client
        self._name = name
        self._options = cast(LockOptions, options)
        within = options.get("stall_after")
        self._stall_after = None if within is None else nanoseconds(within)
        self._hold: Hold | None = None
        self._standing: asyncio.Task[NoReturn] | None = None
        self._jobs = Jobs()

    @property
    def name(self) -> str:
        """The election's name."""
        return self._name

    @property
    def leadership(self) -> Hold | None:
        """The hold of this candidate while it leads, by `lead`, `lead_every` or as a context manager; decided by the clock at this
        very moment."""
        hold = self._hold
        return hold if hold is not None and hold.is_valid() else None

    async def campaign(self) -> Leadership:
        """Waits until this candidate leads."""
        return await self._client.lock(self._name, **self._options).acquire()

    async def lead(self, body: Callable[[Hold], Awaitable[object]]) -> NoReturn:
        """Campaigns, runs `body` while this candidate leads, and so on for ever: after a loss, and when the body has returned (it
        then resigns). The body is cancelled when the leadership is lost; each time it leads it has a new token.

        When the server asks for a handoff (`Hold.transfer_requested`), the body may go on until the drain is nearly over; then it
        is cancelled, and this candidate resigns, which confirms the handoff.

        Never returns: cancel it to resign and stop. Raises what trying again cannot cure: InvalidError, ClosedError, refusals other
        than those of a passing outage, and what the body raises.
        """
        while True:
            leadership = await self.win()
            try:
                async with Cancelling(_over(leadership.hold)):
                    await body(leadership.hold)
            finally:
                await self.step_down(leadership)

    async def lead_every(self, period: Seconds, body: Callable[[Hold], Awaitable[object]]) -> NoReturn:
        """Runs `body` at once on leading, and then every `period` while this candidate leads; campaigns again after a loss. A body
        that takes longer than the period delays the next. A body that hangs loses the leadership only with `stall_after`. When the
        server asks for a handoff, the body that runs may come to its end within the drain, and no other begins.

        Never returns, as `lead`. InvalidError for a period of zero.
        """
        every = nanoseconds(period) / SECOND
        if every <= 0:
            raise InvalidError("period", "it is to be more than zero")

        async def bodies(hold: Hold) -> None:
            next_at = self._client._connection.loop.time()
            while await self.rest(hold, next_at):
                next_at = self._client._connection.loop.time() + every
                await body(hold)
                hold.tick()

        await self.lead(bodies)

    def leader_only(self, function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T | None]]:
        """Has a function, such as a job of a scheduler, run only while this candidate leads: else it does nothing, and answers
        None. It is cancelled when the leadership is lost or about to be given up, and then raises LostError; this candidate
        resigns only when it has ended."""

        @functools.wraps(function)
        async def only(*arguments: P.args, **named: P.kwargs) -> T | None:
            hold = self.leadership
            if hold is None:
                return None
            over = self._jobs.begin()
            try:
                async with Cancelling(either(hold, over)):
                    return await function(*arguments, **named)
            finally:
                self._jobs.end()
            hold.check()
            raise LostError(Lost(LostReason.RELEASED))

        return only

    async def begin_job(self) -> Hold | None:
        """Has this candidate not resign until `end_job`, if it leads: what `leader_only` does before the function."""
        hold = self.leadership
        if hold is not None:
            self._jobs.begin()
        return hold

    async def end_job(self) -> None:
        """What `leader_only` does after the function."""
        self._jobs.end()

    async def leader(self) -> Leader | None:
        """Who leads now."""
        return Leader.of((await self._client.get_lock(self._name)).holder)

    async def observe(self) -> AsyncGenerator[Leader | None, None]:
        """Who leads, now and after each change; None while nobody does. Goes on by itself after failures."""
        leader: Leader | None = None
        is_told = False
        async with self._client.watch(names=[self._name]) as watch:
            async for item in watch:
                before = leader
                if isinstance(item, Snapshot):
                    lock = next((lock for lock in item.locks if lock.name == self._name), None)
                    leader = Leader.of(lock.holder) if lock is not None else None
                elif isinstance(item, Events):
                    leader = leader_after(item.events, leader)
                else:
                    continue
                if leader != before or not is_told:
                    is_told = True
                    yield leader

    async def __aenter__(self) -> Self:
        self._standing = asyncio.ensure_future(self.lead(_until_cancelled))
        self._standing.add_done_callback(self._stands_no_more)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._standing is not None and self._client._connection.origin.is_here:
            self._standing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._standing

    def _stands_no_more(self, standing: asyncio.Task[NoReturn]) -> None:
        """Tells at once of a failure for good, which is else raised on exit only."""
        if not standing.cancelled() and (error := standing.exception()) is not None:
            log.error("not a candidate for %s any more: %s", self._name, error)

    async def win(self) -> Leadership:
        """Campaigns, again and again, until this candidate leads: what `lead` does before each body."""
        pauses = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            try:
                leadership = await self.campaign()
            except TenureError as error:
                if not error.is_transient and not isinstance(error, LostError):
                    raise
                log.warning("the campaign for %s failed, and starts over: %s", self._name, error)
                await asyncio.sleep(pauses.next_pause() / SECOND)
                continue
            log.info("leading %s with token %s", self._name, leadership.token)
            self._hold = leadership.hold
            return leadership

    async def step_down(self, leadership: Leadership) -> None:
        """Resigns, or takes note of the loss: what `lead` does after each body."""
        self._hold = None
        await self._jobs.stop(leadership.hold)
        lost = leadership.lost_reason
        if lost is not None:
            log.warning("the leadership of %s is lost: %s", self._name, lost)
            leadership.drop()
            return
        try:
            await leadership.release()
        except TenureError as error:
            log.warning("did not resign from %s cleanly: %s", self._name, error)

    async def rest(self, hold: Hold, until: float) -> bool:
        """Waits between two bodies, until then in the event loop's time: what `lead_every` does. To wait is no stall, however long
        it takes. Answers whether this candidate leads on: there is nothing to drain now, and the process may have been paused."""
        loop = asyncio.get_running_loop()
        within = self._stall_after
        often = NEVER if within is None else max(within // TICKS_WHILE_WAITING, MILLISECOND)
        over = (asyncio.ensure_future(hold.lost()), asyncio.ensure_future(hold.transfer_requested()))
        try:
            while (left := until - loop.time()) > 0 and not any(task.done() for task in over):
                hold.tick()
                await asyncio.wait(over, timeout=min(left, often / SECOND), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in over:
                task.cancel()
        hold.tick()
        return hold.transfer_request is None and hold.is_valid()


async def _until_cancelled(_: Hold) -> None:
    await asyncio.get_running_loop().create_future()


async def _over(hold: Hold) -> None:
    """Waits until the body has to stop: the hold is lost, or a handoff was asked for and its drain is nearly over."""
    tasks = (asyncio.ensure_future(hold.lost()), asyncio.ensure_future(_drained(hold)))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def _drained(hold: Hold) -> None:
    request = await hold.transfer_requested()
    while request.remaining > 0:  # noqa: ASYNC110 - the clock runs on in suspend, timers do not
        await asyncio.sleep(request.remaining)
