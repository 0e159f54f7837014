"""Groups: named sets of members with a leader, one shared config value and an assignment for each member."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import NoReturn

from typing_extensions import Self

from tenure._link.process import Origin
from tenure._sync.portal import each, run, within
from tenure._sync.session import Session
from tenure.aio import group as aio_group
from tenure.aio import membership as aio_membership
from tenure.errors import Lost
from tenure.model import Assignments, Group
from tenure.standing import Standing


class Membership:
    """Keeps this program a member of a group, until it leaves. Use it as a context manager, or `leave`."""

    def __init__(self, membership: aio_membership.Membership) -> None:
        self._membership = membership

    @property
    def number(self) -> int:
        """This member's number: rises in order of joining."""
        return self._membership.number

    @property
    def session(self) -> Session:
        """The session that is the member."""
        return Session(self._membership.session)

    @property
    def standing(self) -> Standing:
        """Where this member stands, its loss decided by the clock at this very moment."""
        return self._membership.standing

    @property
    def leads(self) -> bool:
        """Whether this member leads."""
        return self._membership.leads

    def standings(self) -> Iterator[Standing]:
        """Where this member stands, now and after each change, until the loss. Who is slow sees the latest."""
        return each(self._membership.standings())

    def lost(self, timeout: float | None = None) -> Lost | None:
        """Waits until the membership is lost. None if it is not after so many seconds."""
        return run(within(self._membership.lost(), timeout))

    def assign(self, group: Group, assignments: Assignments) -> int:
        """Assigns something to every member, as the leader of a group as it was seen: `group` is the one of a standing that this
        member leads. See `tenure.aio.Membership.assign`."""
        return run(self._membership.assign(group, assignments))

    def lead(self, divide: Callable[[Group], Assignments]) -> NoReturn:
        """Whenever this member leads: computes with `divide` what each member is assigned, and assigns it. `divide` is called in the
        client's thread: it should be quick, and ask nothing of a client. Never returns. LostError when the membership is lost."""
        run(self._membership.lead(divide))

    def leave(self) -> None:
        """Leaves the group, and returns when the server has recorded it. A session that was opened for the membership is closed."""
        run(self._membership.leave())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        run(self._membership.__aexit__(kind, error, traceback))


class GroupRequest:
    """How to take part in a group. Nothing is asked before one of its methods is called."""

    def __init__(self, request: aio_group.GroupRequest) -> None:
        self._request = request

    def join(self) -> Membership:
        """Joins the group. If the session is a member already, it stays the member that it is."""
        return Membership(run(self._request.join()))

    def take_part(self, divide: Callable[[Group], Assignments], told: Callable[[Standing], object]) -> NoReturn:
        """Joins the group and stays in it: leads whenever it is this member's turn, and calls `told` in this thread with where this
        member stands, at once and after each change. When the membership is lost, `told` is told so, and joins again, as a new member.

        `divide` is called in the client's thread: it should be quick, and ask nothing of a client. Never returns. Raises what trying
        again cannot cure, ClosedError when the client is closed, and what either of them raises.
        """
        standings: queue.SimpleQueue[Standing | BaseException] = queue.SimpleQueue()

        async def begin() -> asyncio.Task[NoReturn]:
            task = asyncio.ensure_future(self._request.take_part(divide, standings.put))
            task.add_done_callback(
                lambda task: standings.put(asyncio.CancelledError() if task.cancelled() else _error(task))
            )
            return task

        async def stop(task: asyncio.Task[NoReturn]) -> None:
            task.cancel()
            await asyncio.wait({task})

        task = run(begin())
        origin = Origin()
        try:
            while True:
                origin.check()
                standing = standings.get()
                if isinstance(standing, BaseException):
                    raise standing
                told(standing)
        finally:
            if origin.is_here:
                run(stop(task))


def _error(task: asyncio.Task[NoReturn]) -> BaseException:
    error = task.exception()
    return RuntimeError("it ended") if error is None else error
