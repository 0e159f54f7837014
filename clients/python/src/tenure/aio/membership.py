"""A membership: from joining to leaving or its loss."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from typing_extensions import Self

from tenure._link.backoff import Backoff
from tenure.aio._waiting import session_lost
from tenure.clock import MILLISECOND, SECOND
from tenure.errors import InvalidError, Lost, LostError, LostReason, RefusedError, TenureError
from tenure.model import Assignments, Events, Group, GroupEvent, GroupEventKind, Snapshot
from tenure.standing import Standing

if TYPE_CHECKING:
    from tenure.aio.client import Client
    from tenure.aio.session import Session

log = logging.getLogger("tenure")

#: Pauses between tries to assign, or to watch, that fail: from this ...
FIRST_PAUSE = 50 * MILLISECOND
#: ... to this.
LONGEST_PAUSE = 500 * MILLISECOND


class Membership:
    """Keeps this program a member of a group, until it leaves. Use it as a context manager, or `leave`."""

    def __init__(self, client: Client, session: Session, owns_session: bool, number: int, group: Group) -> None:
        self._client = client
        self._session = session
        #: Whether the session is there for this membership only.
        self._owns_session = owns_session
        self._standing = Standing(number, group)
        self._changed = asyncio.Event()
        self._is_over = False
        self._following = asyncio.ensure_future(self._follow())

    @property
    def number(self) -> int:
        """This member's number: rises in order of joining."""
        return self._standing.number

    @property
    def session(self) -> Session:
        """The session that is the member."""
        return self._session

    @property
    def standing(self) -> Standing:
        """Where this member stands. That the membership is lost because its time is over is decided by the clock at this very
        moment: a process that was paused for too long is told so on waking."""
        lost = self._standing.lost or self._session.lost_reason
        return self._standing if lost is None else dataclasses.replace(self._standing, lost=lost)

    @property
    def leads(self) -> bool:
        """Whether this member leads."""
        return self.standing.leads

    async def standings(self) -> AsyncIterator[Standing]:
        """Where this member stands, now and after each change: members, leader, config, assignments, and the loss, with which it
        ends. Who is slow sees the latest."""
        told: Standing | None = None
        while told is None or told.lost is None:
            changed = self._changed
            standing = self._standing
            if standing != told:
                told = standing
                yield standing
            else:
                await changed.wait()

    async def lost(self) -> Lost:
        """Waits until the membership is lost: before the others could be told so, or as soon as the server says it."""
        async for standing in self.standings():
            if standing.lost is not None:
                return standing.lost
        return Lost(LostReason.CLOSED)

    async def assign(self, group: Group, assignments: Assignments) -> int:
        """Assigns something to every member, as the leader of a group as it was seen: `group` is the one of a standing that this
        member leads. Answers the revision of that.

        RefusedError with STALE_ASSIGNMENT if the group has changed since, with NOT_LEADER if this is not the leader (any more), with
        INVALID_FIELD if the assignments do not fit the members; LostError.
        """
        if (lost := self.standing.lost) is not None:
            raise LostError(lost)
        if group.leader is None or group.leader.member != self.number:
            raise InvalidError("group", "this member does not lead it")
        return await self._client.assign_group(group, group.leader, assignments)

    async def lead(self, divide: Callable[[Group], Assignments]) -> NoReturn:
        """Whenever this member leads: computes with `divide` what each member is assigned, and assigns it, each time that members or
        config have changed. `divide` should be quick; `Group.assign` makes assignments that fit.

        Never returns: cancel it to stop. LostError when the membership is.
        """
        pauses = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        async for standing in self.standings():
            while standing.leads and not standing.group.assignments_current and standing == self._standing:
                try:
                    await self.assign(standing.group, divide(standing.group))
                    pauses.reset()
                    break
                except TenureError as error:
                    if isinstance(error, RefusedError) and error.reason in ("STALE_ASSIGNMENT", "NOT_LEADER"):
                        # What has changed is told next.
                        break
                    if not error.is_transient:
                        raise
                    log.warning("did not assign, and tries again: %s", error)
                    await asyncio.sleep(pauses.next_pause() / SECOND)
        raise LostError(self._standing.lost or Lost(LostReason.CLOSED))

    async def leave(self) -> None:
        """Leaves the group, and returns when the server has recorded it. A session that was opened for the membership is closed.

        RefusedError if the membership had ended before; UnavailableError if no server answered in time: it then ends by the
        session's TTL, or with the session that it was made in.
        """
        self._end()
        try:
            await self._client.leave_group(self._standing.group.name, self._session.id, self.number)
        except BaseException:
            if self._owns_session:
                self._session.close_in_background()
            raise
        if self._owns_session:
            await self._session.close()

    def drop(self) -> None:
        """Leaves in the background."""
        if self._is_over:
            return
        was_lost = self.standing.lost is not None
        self._end()
        if self._owns_session:
            self._session.close_in_background()
        elif not was_lost and not self._session._connection.is_closed:
            leaving = self._client.leave_group(self._standing.group.name, self._session.id, self.number)
            task = asyncio.ensure_future(leaving)
            BACKGROUND.add(task)
            task.add_done_callback(_left)

    def _end(self) -> None:
        self._is_over = True
        self._following.cancel()
        # Nobody follows any more who would tell those that wait for the loss.
        self._change(dataclasses.replace(self._standing, lost=self.standing.lost or Lost(LostReason.RELEASED)))

    async def _follow(self) -> None:
        """Keeps the standing up to date, until the membership is lost."""
        losing = asyncio.ensure_future(session_lost(self._session._live.presence))
        watching = asyncio.ensure_future(self._watch())
        try:
            done, _ = await asyncio.wait({losing, watching}, return_when=asyncio.FIRST_COMPLETED)
            lost = losing.result() if losing in done else watching.result()
            self._change(dataclasses.replace(self._standing, lost=lost))
        finally:
            losing.cancel()
            watching.cancel()

    async def _watch(self) -> Lost:
        """Takes over what a watch tells. Answers why the membership is over."""
        name = self._standing.group.name
        pauses = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while not self._client._connection.is_closed:
            try:
                async with self._client.watch(groups=[name]) as watch:
                    async for item in watch:
                        if not isinstance(item, Snapshot | Events):
                            continue
                        pauses.reset()
                        events = item.group_events if isinstance(item, Events) else ()
                        lost = next((lost for lost in map(self._left, events) if lost is not None), None)
                        group = next((group for group in item.groups if group.name == name), None)
                        if lost is None and group is not None and group.member(self.number) is None:
                            lost = Lost(LostReason.FORGOTTEN)
                        if lost is not None:
                            return lost
                        if group is not None:
                            self._change(dataclasses.replace(self._standing, group=group))
            except TenureError as error:
                log.warning("the group %s cannot be watched: %s", name, error)
            await asyncio.sleep(pauses.next_pause() / SECOND)
        return Lost(LostReason.CLOSED)

    def _left(self, event: GroupEvent) -> Lost | None:
        """Why this member left, if that is what happened."""
        is_own = event.member is not None and event.member.number == self.number
        if event.kind != GroupEventKind.LEFT or not is_own or event.end_reason is None:
            return None
        return Lost(LostReason.ENDED, event.end_reason)

    def _change(self, standing: Standing) -> None:
        if standing != self._standing:
            self._standing = standing
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._is_over:
            return
        if self.standing.lost is None:
            await self.leave()
        else:
            self.drop()


#: What goes on without anybody who waits for it.
BACKGROUND: set[asyncio.Task[None]] = set()


def _left(task: asyncio.Task[None]) -> None:
    BACKGROUND.discard(task)
    with contextlib.suppress(asyncio.CancelledError):
        if (error := task.exception()) is not None:
            log.warning("did not leave cleanly: %s", error)
