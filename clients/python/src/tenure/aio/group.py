"""Groups: named sets of members with a leader, one shared config value and an assignment for each member."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, NoReturn

from typing_extensions import Self

from tenure import presence, v1
from tenure.backoff import Backoff
from tenure.declare import Busy, Part, Target
from tenure.error import InvalidError, Lost, LostError, RefusedError, TenureError, UnavailableError
from tenure.group import Assignments, Standing
from tenure.session import SessionView

if TYPE_CHECKING:
    from tenure.aio.client import Client

log = logging.getLogger("tenure")

#: Pauses between failed attempts to join or to assign, in seconds: from this ...
FIRST_PAUSE = 0.05
#: ... to this.
LONGEST_PAUSE = 0.5


class GroupRequest:
    """How to join a group. Nothing is requested before one of its methods is awaited."""

    def __init__(
        self, client: Client, target: Target, session: SessionView | None, membership: v1.DeclaredMembership
    ) -> None:
        self._client = client
        self._target = target
        self._session = session
        self._membership = membership

    async def join(self) -> Membership:
        """Joins the group. A session joins a group once: RefusedError with MEMBERSHIP_OVERLAP if it is a member
        already.

        Any member may become the leader, and while a leader assigns nothing, no member has an assignment: run
        `Membership.lead`, unless the group uses no assignments. RefusedError (a limit is reached, ...), LostError if
        the session is, UnavailableError.
        """
        part = await self._target.obtain(self._membership, None, 0.0)
        if isinstance(part, Busy):
            raise UnavailableError("the membership did not begin")
        session = self._session or SessionView(part.item.session, self._target.open)
        try:
            return Membership(self._client, part, session, await self._client.get_group(self._membership.group))
        except BaseException:
            part.drop()
            raise

    async def take_part(
        self, divide: Callable[[v1.Group], Assignments], on_change: Callable[[Standing], object]
    ) -> NoReturn:
        """Joins the group and remains in it. While this member leads, computes the assignments with `divide`, each time
        that members or config have changed. Calls `on_change` with the member's standing, at once and after each
        change. When the membership is lost, calls it with the loss, and joins again, as a new member.

        Never returns: cancel it to leave and stop. Both functions should be quick. Raises errors that a retry cannot
        fix.
        """
        backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            try:
                membership = await self.join()
            except TenureError as error:
                is_own_loss = self._session is None and isinstance(error, LostError)
                if not error.is_transient and not is_own_loss:
                    raise
                log.warning("did not join %s, and tries again: %s", self._membership.group, error)
                await asyncio.sleep(backoff.next_pause())
                continue
            backoff.reset()
            async with membership:
                await _stay(membership, divide, on_change)
            lost = membership.standing.lost
            log.warning("the membership of %s is lost: %s", self._membership.group, lost)
            if self._session is not None and lost is not None:
                raise LostError(lost)


class Membership:
    """A membership in a group, until it is left or lost. `leave`, or use it as a context manager."""

    def __init__(self, client: Client, part: Part, session: SessionView, group: v1.Group) -> None:
        self._client = client
        self._part = part
        #: The session that is the member.
        self.session = session
        #: This member's number: rises in order of joining.
        self.number = part.item.state.member if isinstance(part.item.state, v1.JoinedState) else 0
        self._group = group
        self._updating = asyncio.ensure_future(presence.first(self._update(), self.lost()))

    @property
    def standing(self) -> Standing:
        """The standing of this member. Whether the membership is lost is decided by the clock at this moment: a process
        that was paused for too long sees the loss when it resumes."""
        return Standing(self.number, self._group, self._part.item.lost_reason())

    @property
    def leads(self) -> bool:
        """Whether this member leads."""
        return self.standing.leads

    async def standings(self) -> AsyncGenerator[Standing, None]:
        """The standing of this member, now and after each change: members, leader, config, assignments, and the loss,
        which is the last. A slow reader sees only the latest."""
        async for standing in presence.changes(self._part.item, lambda: self.standing):
            yield standing
            if standing.lost is not None:
                return

    async def lost(self) -> Lost:
        """Waits until the membership is lost: before the others could be notified of it, or as soon as the server
        reports it."""
        return await presence.lost(self._part.item)

    async def assign(self, group: v1.Group, assignments: Assignments) -> int:
        """Assigns something to every member, as the leader of this state of the group: `group` is from a standing in
        which this member leads. Returns the revision of the assignments.

        RefusedError with STALE_ASSIGNMENT if the group has changed since, with NOT_LEADER if this member does not lead,
        with INVALID_FIELD if the assignments do not fit the members; LostError; UnavailableError.
        """
        if (lost := self.standing.lost) is not None:
            raise LostError(lost)
        if not group.HasField("leader") or group.leader.member != self.number:
            raise InvalidError("group", "this member does not lead it")
        request = v1.AssignGroupRequest(
            group=group.name,
            session_id=self.session.id,
            token=group.leader.token,
            membership_revision=group.membership_revision,
            config_revision=group.config_revision,
            assignments=assignments,
        )
        reply = await self._part.connection.call("GroupService/AssignGroup", request, v1.AssignGroupResponse)
        return reply.assignments_revision

    async def lead(self, divide: Callable[[v1.Group], Assignments]) -> NoReturn:
        """While this member leads: computes the assignments with `divide`, and sends them, each time that members or
        config have changed. `divide` should be quick; `tenure.assign` returns assignments that fit.

        Never returns: cancel it to stop. LostError when the membership is lost; rejections other than those of a
        temporary outage.
        """
        backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        async for standing in self.standings():
            while standing.leads and not standing.is_current and standing == self.standing:
                try:
                    await self.assign(standing.group, divide(standing.group))
                    backoff.reset()
                    break
                except TenureError as error:
                    if isinstance(error, RefusedError) and error.reason in ("STALE_ASSIGNMENT", "NOT_LEADER"):
                        # The group has changed meanwhile: the next standing shows it.
                        break
                    if not error.is_transient:
                        raise
                    log.warning("did not assign, and tries again: %s", error)
                await asyncio.sleep(backoff.next_pause())
        raise LostError(await self.lost())

    async def leave(self) -> None:
        """Leaves the group, and returns when the server has recorded it. A session that was opened for the membership
        is closed.

        LostError if the membership had ended before; UnavailableError if no server confirmed it in time: it then ends
        by the session's TTL, or with the session in which it was made.
        """
        if self._part.connection.forked_from is None:
            self._updating.cancel()
        await self._part.end()

    async def _update(self) -> None:
        """Updates the group by a watch."""
        name, backoff = self._group.name, Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            try:
                async with self._client.watch(v1.WatchRequest(groups=[name])) as watch:
                    async for response in watch:
                        backoff.reset()
                        for group in (*response.snapshot.groups, *response.events.groups):
                            # A state without this member is from before it joined, or its end is about to be reported.
                            if group.name == name and any(one.number == self.number for one in group.members):
                                self._group = group
                                presence.notify(self._part.item)
            except TenureError as error:
                log.warning("the group %s cannot be watched: %s", name, error)
            await asyncio.sleep(backoff.next_pause())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(LostError):
            await self.leave()


async def _stay(
    membership: Membership, divide: Callable[[v1.Group], Assignments], on_change: Callable[[Standing], object]
) -> None:
    """Leads, and follows the standings, until the membership is lost."""

    async def follow() -> None:
        async for standing in membership.standings():
            on_change(standing)

    async def lead() -> None:
        with contextlib.suppress(LostError):
            await membership.lead(divide)
        # The other half reports the loss.
        await asyncio.Event().wait()

    await presence.first(follow(), lead())
