"""Groups: named sets of members with a leader, one shared config value and an assignment for each member."""

import asyncio
import queue
from collections.abc import Callable
from typing import NoReturn

from tenure import v1
from tenure._sync.portal import Entered, blocking, blocking_within, iterating, obtaining, run
from tenure.aio import group as aio
from tenure.group import Assignments, Standing


class Membership(Entered[aio.Membership]):
    """A membership in a group, until it is left or lost. `leave`, or use it as a context manager."""

    def __init__(self, membership: aio.Membership) -> None:
        super().__init__(membership)
        #: The session that is the member.
        self.session = membership.session
        #: This member's number: rises in order of joining.
        self.number = membership.number

    @property
    def standing(self) -> Standing:
        """The standing of this member. Whether the membership is lost is decided by the clock at this moment."""
        return self._inner.standing

    @property
    def leads(self) -> bool:
        """Whether this member leads."""
        return self._inner.leads

    standings = iterating(aio.Membership.standings)
    lost = blocking_within(aio.Membership.lost)
    assign = blocking(aio.Membership.assign)
    #: `divide` is called in the client's thread: it should be quick, and request nothing of a client.
    lead = blocking(aio.Membership.lead)
    leave = blocking(aio.Membership.leave)


class GroupRequest:
    """How to join a group. Nothing is requested before one of its methods is called."""

    def __init__(self, request: aio.GroupRequest) -> None:
        self._inner = request

    join = obtaining(Membership, aio.GroupRequest.join)

    def take_part(self, divide: Callable[[v1.Group], Assignments], on_change: Callable[[Standing], object]) -> NoReturn:
        """Joins the group and remains in it: see `tenure.aio.GroupRequest.take_part`. Calls `on_change` in this thread,
        and `divide` in the client's thread: it should be quick, and request nothing of a client.

        Never returns. Raises errors that a retry cannot fix, ClosedError when the client is closed, and what the
        functions raise.
        """
        standings: queue.SimpleQueue[Standing | None] = queue.SimpleQueue()

        async def begin() -> asyncio.Task[NoReturn]:
            task = asyncio.ensure_future(self._inner.take_part(divide, standings.put))
            task.add_done_callback(lambda _: standings.put(None))
            return task

        async def end() -> None:
            task.cancel()
            await asyncio.wait({task})

        task = run(begin())
        try:
            while (standing := standings.get()) is not None:
                on_change(standing)
        finally:
            run(end())
        task.result()
        raise AssertionError("it never returns")
