"""Groups: named sets of members with a leader, one shared config value and an assignment for each member."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from tenure._link.backoff import Backoff
from tenure.aio.election import FIRST_PAUSE, LONGEST_PAUSE
from tenure.aio.membership import Membership
from tenure.clock import SECOND
from tenure.errors import LostError, RefusedError, TenureError
from tenure.model import Assignments, Group
from tenure.request import GroupOptions, own_session
from tenure.standing import Standing

if TYPE_CHECKING:
    from tenure.aio.client import Client
    from tenure.aio.session import Session

log = logging.getLogger("tenure")


class GroupRequest:
    """How to take part in a group. Nothing is asked before one of its methods is awaited."""

    def __init__(self, client: Client, name: str, session: Session | None, options: GroupOptions) -> None:
        self._client = client
        self._name = name
        self._session = session
        self._options = options

    async def join(self) -> Membership:
        """Joins the group. If the session is a member already, it stays the member that it is.

        Any member may come to lead, and a leader that assigns nothing leaves all without assignments: have `Membership.lead` run,
        unless assignments are of no use to the group. RefusedError (a limit is reached, ...), LostError if the session is.
        """
        from tenure.aio.session import Session

        session = self._session
        if session is None:
            session = await Session.open(self._client._connection, own_session(self._options))
        try:
            number, group = await self._client.join_group(self._name, session.id, self._options.get("metadata", {}))
        except BaseException:
            if self._session is None:
                session.close_in_background()
            raise
        return Membership(self._client, session, self._session is None, number, group)

    async def take_part(self, divide: Callable[[Group], Assignments], told: Callable[[Standing], object]) -> NoReturn:
        """Joins the group and stays in it: leads whenever it is this member's turn, which is computing with `divide` what each member
        is assigned, each time that members or config have changed; and calls `told` with where this member stands, at once and
        after each change. When the membership is lost, `told` is told so, and joins again, as a new member.

        Never returns: cancel it to leave and stop. Both should be quick. Raises what trying again cannot cure.
        """
        pauses = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            try:
                membership = await self.join()
            except TenureError as error:
                if not self._may_join_later(error):
                    raise
                log.warning("did not join %s, and tries again: %s", self._name, error)
                await asyncio.sleep(pauses.next_pause() / SECOND)
                continue
            pauses.reset()
            await self._stay(membership, divide, told)
            if self._session is not None:
                raise LostError(membership.standing.lost or await membership.lost())

    async def _stay(
        self, membership: Membership, divide: Callable[[Group], Assignments], told: Callable[[Standing], object]
    ) -> None:
        following = asyncio.ensure_future(_follow(membership, told))
        leading = asyncio.ensure_future(membership.lead(divide))
        try:
            await asyncio.wait({following, leading}, return_when=asyncio.FIRST_COMPLETED)
            if leading.done() and not isinstance(leading.exception(), LostError):
                await leading
            # A loss is told by the other half.
            await following
        finally:
            for task in (following, leading):
                task.cancel()
            await asyncio.gather(following, leading, return_exceptions=True)
            membership.drop()

    def _may_join_later(self, error: TenureError) -> bool:
        is_gone = isinstance(error, RefusedError) and error.reason in ("SESSION_NOT_FOUND", "SESSION_ENDED")
        is_lost = isinstance(error, LostError) or is_gone
        return error.is_transient or (is_lost and self._session is None)


async def _follow(membership: Membership, told: Callable[[Standing], object]) -> None:
    async for standing in membership.standings():
        told(standing)
