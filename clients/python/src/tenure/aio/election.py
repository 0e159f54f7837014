"""Elections: one leader among several copies of a program."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, NoReturn, ParamSpec, TypeVar

from typing_extensions import Self

from tenure import presence, v1
from tenure.aio.guard import Cancelling, Guard, Hold
from tenure.aio.lock import LockRequest
from tenure.backoff import Backoff
from tenure.clock import Seconds, seconds
from tenure.error import ClosedError, ForkedError, InvalidError, Lost, LostError, LostReason, TenureError

if TYPE_CHECKING:
    from tenure.aio.client import Client

log = logging.getLogger("tenure")

P = ParamSpec("P")
T = TypeVar("T")

#: Pauses between failed campaigns, in seconds: from this ...
FIRST_PAUSE = 0.05
#: ... to this ...
LONGEST_PAUSE = 0.5
#: ... or, for a candidate in the background, after rejections that are not temporary, to this.
LONGEST_PAUSE_IF_REJECTED = 10.0
#: A loop that waits for its next body reports progress this number of times before it would count as stalled ...
TICKS_WHILE_WAITING = 3
#: ... and the shortest interval of these reports, in seconds.
SHORTEST_TICK = 0.001


class Election:
    """A candidacy in an election. The leader is the holder of the lock of the election's name.

    As a context manager it is a candidate in the background: functions that are `leader_only` then run while it leads.
    That candidate tries on after every failure of a server, also after rejections that are not temporary, with pauses
    of up to 10 s.
    """

    def __init__(self, client: Client, name: str, request: LockRequest, stall_after: Seconds | None) -> None:
        self._client = client
        #: The election's name.
        self.name = name
        self._request = request
        self._stall_after = None if stall_after is None else seconds(stall_after, "stall_after")
        self._hold: Hold | None = None
        self._candidate: asyncio.Task[NoReturn] | None = None
        #: The `leader_only` functions that run: each ends before the candidate resigns, so that none runs beside the
        #: next leader's.
        self._jobs = 0
        self._idle = asyncio.Event()
        self._resigns = asyncio.Event()

    @property
    def leadership(self) -> Hold | None:
        """The hold of this candidate while it leads, by `lead`, `lead_every` or as a context manager; decided by the
        clock at this moment."""
        hold = self._hold
        return hold if hold is not None and hold.is_valid() else None

    def is_healthy(self) -> bool:
        """Whether the candidate in the background leads, or waits in the queue: not while its campaigns fail, or no
        server is there."""
        claim = self._request.declared
        is_accepted = claim is not None and claim.state is not None and claim.lost_reason() is None
        return is_accepted and self._candidate is not None and not self._candidate.done()

    async def campaign(self) -> Guard:
        """Waits until this candidate leads. Returns its hold of the lock, until whose loss or release it leads: one
        term, with a token greater than those of all earlier terms."""
        return await self._request.acquire()

    async def lead(self, body: Callable[[Hold], Awaitable[object]]) -> NoReturn:
        """Campaigns, runs `body` while this candidate leads, and repeats this after a loss, and when the body has
        returned (the candidate then resigns). The body is cancelled when the leadership is lost; each term has a new
        token.

        When the server asks for a handoff (`Hold.transfer_requested`), the body may continue until the drain is nearly
        over; then it is cancelled, and this candidate resigns, which confirms the handoff.

        Never returns: cancel it to resign and stop. Raises errors that a retry cannot fix: InvalidError, ClosedError,
        rejections other than those of a temporary outage, and what the body raises.
        """
        await self._lead(body, is_patient=False)

    async def lead_every(self, period: Seconds, body: Callable[[Hold], Awaitable[object]]) -> NoReturn:
        """Runs `body` at the start of each term, and then every `period` while this candidate leads; campaigns again
        after a loss. A body that takes longer than the period delays the next. It is cancelled when the leadership is
        lost. A hung body loses the leadership only with `stall_after`. When the server asks for a handoff, the running
        body may end within the drain, and no other begins.

        Never returns, as `lead`. InvalidError for a period of zero.
        """
        every = self.period(period)

        async def bodies(hold: Hold) -> None:
            loop = asyncio.get_running_loop()
            next_at = loop.time()
            while await self.rest(hold, next_at):
                next_at = loop.time() + every
                await body(hold)
                hold.tick()

        await self.lead(bodies)

    def leader_only(self, function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T | None]]:
        """Decorates a function, such as a job of a scheduler: it runs only while this candidate leads, and otherwise
        does nothing and returns None. It is cancelled when the leadership is lost or about to be released, and then
        raises LostError; this candidate resigns only when it has ended."""

        @functools.wraps(function)
        async def only(*arguments: P.args, **named: P.kwargs) -> T | None:
            hold = await self.begin_job()
            if hold is None:
                return None
            try:
                async with Cancelling(hold.lost(), self._resigns.wait()):
                    return await function(*arguments, **named)
            finally:
                await self.end_job()
            raise LostError(hold.lost_reason or Lost(LostReason.RELEASED))

        return only

    async def leader(self) -> v1.Claim | None:
        """The claim of the current leader."""
        return _holder(await self._client.get_lock(self.name))

    async def observe(self) -> AsyncGenerator[v1.Claim | None, None]:
        """The claim of the leader, now and after each change; None while there is no leader. Continues by itself after
        failures."""
        leader: v1.Claim | None = None
        is_first = True
        async with self._client.watch(v1.WatchRequest(names=[self.name])) as watch:
            async for response in watch:
                before = leader
                if response.HasField("snapshot"):
                    leader = next((_holder(lock) for lock in response.snapshot.locks if lock.name == self.name), None)
                elif not response.HasField("events"):
                    continue
                for event in response.events.events:
                    leader = leader_after(event, leader)
                if leader != before or is_first:
                    is_first = False
                    yield leader

    async def __aenter__(self) -> Self:
        self._client._connection.check()
        self._candidate = asyncio.ensure_future(self._lead(_until_cancelled, is_patient=True))
        self._candidate.add_done_callback(self._ended)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._candidate is not None and self._client._connection.forked_from is None:
            self._candidate.cancel()
            with contextlib.suppress(asyncio.CancelledError, ClosedError):
                await self._candidate

    def _ended(self, candidate: asyncio.Task[NoReturn]) -> None:
        if not candidate.cancelled() and (error := candidate.exception()) is not None:
            log.error("no longer a candidate for %s: %s", self.name, error)

    async def _lead(self, body: Callable[[Hold], Awaitable[object]], *, is_patient: bool) -> NoReturn:
        while True:
            leadership = await self.win(is_patient=is_patient)
            try:
                async with Cancelling(leadership.lost(), _drained(leadership)):
                    await body(leadership.hold)
            finally:
                await self.step_down(leadership)

    async def win(self, *, is_patient: bool = False) -> Guard:
        """Campaigns until this candidate leads: the part of `lead` before each body. A patient one tries on after all
        rejections."""
        soon, later = Backoff(FIRST_PAUSE, LONGEST_PAUSE), Backoff(FIRST_PAUSE, LONGEST_PAUSE_IF_REJECTED)
        while True:
            try:
                leadership = await self.campaign()
            except TenureError as error:
                is_temporary = error.is_transient or isinstance(error, LostError)
                if isinstance(error, ClosedError | ForkedError | InvalidError) or not (is_temporary or is_patient):
                    raise
                log.warning("the campaign for %s failed, and starts over: %s", self.name, error)
                await asyncio.sleep((soon if is_temporary else later).next_pause())
                continue
            log.info("leading %s with token %s", self.name, leadership.token)
            self._resigns.clear()
            self._hold = leadership.hold
            return leadership

    async def step_down(self, leadership: Guard) -> None:
        """Resigns, once all jobs have ended: the part of `lead` after each body."""
        self._hold = None
        self._resigns.set()
        if self._jobs > 0:
            await presence.first(self._idle.wait(), leadership.lost())
        lost = leadership.lost_reason
        try:
            await leadership.release()
        except TenureError as error:
            problem = "the leadership of %s is lost: %s" if lost else "did not resign from %s cleanly: %s"
            log.warning(problem, self.name, error)

    async def rest(self, hold: Hold, until: float) -> bool:
        """Waits between two bodies of `lead_every`, until then in the event loop's time. Waiting is no stall, however
        long it takes. Returns whether this candidate still leads: there is nothing to drain now, and the process may
        have been paused."""
        loop, within = asyncio.get_running_loop(), self._stall_after
        often = math.inf if within is None else max(within / TICKS_WHILE_WAITING, SHORTEST_TICK)
        is_over = False
        while (left := until - loop.time()) > 0 and not is_over:
            hold.tick()
            is_over = await presence.first(hold.lost(), hold.transfer_requested(), timeout=min(left, often))
        hold.tick()
        return hold.transfer_request is None and hold.is_valid()

    async def begin_job(self) -> Hold | None:
        """Returns the hold if this candidate leads, which then resigns only after `end_job`."""
        hold = self.leadership
        if hold is not None:
            self._jobs += 1
            self._idle.clear()
        return hold

    async def end_job(self) -> None:
        """Ends a job."""
        self._jobs -= 1
        if self._jobs == 0:
            self._idle.set()

    @staticmethod
    def period(period: Seconds) -> float:
        """The period of `lead_every`, in seconds."""
        every = seconds(period, "period")
        if every <= 0:
            raise InvalidError("period", "it must be more than zero")
        return every


def leader_after(event: v1.Event, leader: v1.Claim | None) -> v1.Claim | None:
    """The claim of the leader after an event, if this was it before."""
    if event.type in (v1.EVENT_TYPE_GRANTED, v1.EVENT_TYPE_TRANSFERRED, v1.EVENT_TYPE_UPDATED):
        return event.claim
    # The end of a waiter's claim changes nothing.
    is_end = event.type in (v1.EVENT_TYPE_ENDED, v1.EVENT_TYPE_LINGERING)
    return None if is_end and leader is not None and leader.token == event.claim.token else leader


def _holder(lock: v1.Lock) -> v1.Claim | None:
    """The first claim that holds a lock. One that only lingers does not hold it."""
    return next((claim for claim in lock.holders if claim.state == v1.CLAIM_STATE_HELD), None)


async def _until_cancelled(_: Hold) -> None:
    await asyncio.get_running_loop().create_future()


async def _drained(hold: Hold) -> None:
    """Waits until the body must stop for a handoff, whose drain is nearly over."""
    request = await hold.transfer_requested()
    while request.remaining > 0:  # noqa: ASYNC110 - timers stop in suspend, the clock does not
        await asyncio.sleep(request.remaining)
