"""What is held."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from tenure import clock
from tenure._engine.claims import Entry, Grant
from tenure._engine.reply import Reply
from tenure.aio._waiting import hold_lost, replying, transfer_requested
from tenure.aio.calls import Calls
from tenure.errors import Lost, LostError, LostReason
from tenure.handoff import TransferRequest
from tenure.presence import HoldPresence

if TYPE_CHECKING:
    from tenure.aio.session import Session


class Hold:
    """A view of what is held, to hand around: it tells whether the hold is valid but does not keep it."""

    def __init__(self, presence: HoldPresence) -> None:
        self._presence = presence

    @property
    def token(self) -> int:
        """The fencing token, to be sent along with every write that the lock protects. Greater than all tokens granted before
        it in the namespace."""
        return self._presence.token

    @property
    def names(self) -> tuple[str, ...]:
        """The locks that are held, in byte order."""
        return self._presence.names

    def is_valid(self) -> bool:
        """Whether the server cannot have given the locks away, decided by the clock at this very moment. Once False it stays
        so. A program may still be paused right after asking: that is what the token is for."""
        return self._presence.is_valid()

    def check(self) -> None:
        """Raises LostError unless the hold is valid at this very moment."""
        if (lost := self._presence.lost()) is not None:
            raise LostError(lost)

    @property
    def lost_reason(self) -> Lost | None:
        """Why it is lost, if it is."""
        return self._presence.lost()

    async def lost(self) -> Lost:
        """Waits until the hold is lost or released: before the server could give the locks away, or as soon as it says so."""
        return await hold_lost(self._presence)

    @property
    def transfer_request(self) -> TransferRequest | None:
        """The last request to hand over, if there was one."""
        return self._presence.transfer_request

    async def transfer_requested(self) -> TransferRequest:
        """Waits until the server asks to hand the locks over: an operator's transfer, or a better candidate that preempts. The
        work should then be stopped and the locks released, which confirms the handoff; if they are not in time, the hold goes
        on."""
        return await transfer_requested(self._presence)

    def tick(self) -> None:
        """The work under the hold gets on: see `stall_after`, without which this does nothing. Cheap; any thread may do it."""
        self._presence.tick()


class Guard(Hold):
    """Keeps what is held, until it is released. One that is forgotten gives the locks back when it is garbage, with a
    ResourceWarning."""

    def __init__(self, session: Session, grant: Grant, *, owns_session: bool) -> None:
        super().__init__(grant.hold)
        self._session = session
        self._entry = grant.entry
        self._owns_session = owns_session
        self._is_over = False

    def __bool__(self) -> Literal[True]:
        return True

    @property
    def hold(self) -> Hold:
        """A view of what is held, to hand to tasks."""
        return Hold(self._presence)

    @property
    def session(self) -> Session:
        """The session that holds it."""
        return self._session

    async def release(self) -> None:
        """Gives the locks back, and returns when the server has done so.

        LostError if the hold had been lost before, even if only the server knows that; UnavailableError if no server answered in
        time, which is then tried further in the background; RefusedError.
        """
        lost = self._presence.lost()
        if lost is not None or self._is_over:
            self.drop()
            raise LostError(lost or Lost(LostReason.RELEASED))
        connection = self._session._connection
        future: asyncio.Future[None] = connection.loop.create_future()
        reply: Reply[None] = replying(future)
        now = clock.now()
        self._is_over = True
        connection.engine.claims.release(self._entry, now + connection.call_timeout, reply, now)
        connection.wake()
        try:
            await future
        finally:
            self._close_own_session()

    def drop(self) -> None:
        """Gives the locks back in the background."""
        if self._is_over or not self._session._connection.origin.is_here:
            return
        self._is_over = True
        give_back(self._session, self._entry, self._owns_session)

    async def update(self, metadata: Mapping[str, str]) -> None:
        """Replaces the labels of the claim."""
        calls = Calls(self._session._connection)
        await calls.update_claim(self.names[0], self._session.id, self.token, metadata)

    async def transfer_to(self, session_id: str | None = None) -> int:
        """Hands the locks over to a session that waits for them (None: to whoever is first in the queue), in one step and without
        a gap in which nobody holds them. Answers the next holder's token. The work must have stopped: from the call on this hold
        is not valid any more, and if nothing comes of the handoff the locks are given back.

        LostError or RefusedError (with TRANSFER_IMPOSSIBLE if nobody waits who could hold next); UnavailableError.
        """
        self.check()
        self._session._connection.origin.check()
        self._presence.end(Lost(LostReason.RELEASED))
        try:
            return await Calls(self._session._connection).hand_over(
                self.names[0], self._session.id, self.token, session_id
            )
        finally:
            self.drop()

    def _close_own_session(self) -> None:
        if self._owns_session:
            self._session.close_in_background()

    def __del__(self) -> None:
        if getattr(self, "_is_over", True) or self._session._connection.is_closed:
            return
        if self._presence.lost() is None:
            warnings.warn(f"the hold of {self.names} was not released", ResourceWarning, source=self, stacklevel=1)
        self._presence.end(Lost(LostReason.RELEASED))
        self._is_over = True
        # A loop that has ended can tell nobody: the session ends by its TTL.
        with contextlib.suppress(RuntimeError):
            loop = self._session._connection.loop
            loop.call_soon_threadsafe(give_back, self._session, self._entry, self._owns_session)


def give_back(session: Session, entry: Entry, owns_session: bool) -> None:
    """Gives locks back in the background."""
    if not session._connection.origin.is_here:
        return
    session._connection.engine.claims.drop(entry, clock.now())
    session._connection.wake()
    if owns_session:
        session.close_in_background()
