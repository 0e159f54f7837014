"""Opens sessions, makes claims and memberships, and waits for what becomes of them."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from dataclasses import dataclass
from typing import Literal

from tenure import clock, presence, v1
from tenure.backoff import Backoff
from tenure.connection import Connection
from tenure.error import Lost, LostError, LostReason, RefusedError, TenureError, word
from tenure.progress import Progress
from tenure.protocol import Item


@dataclass(frozen=True)
class Busy:
    """Another claim holds the locks. Is false, so that `if guard := lock.try_acquire():` is correct."""

    #: A claim that holds one of the names, or waits ahead for it.
    holder: v1.Claim | None

    def __bool__(self) -> Literal[False]:
        return False


class Part:
    """A session, or a claim or membership with the session that was opened for it, if one was."""

    def __init__(self, connection: Connection, item: Item, *, owns_session: bool) -> None:
        self.connection = connection
        self.item = item
        self._owns_session = owns_session

    def drop(self) -> None:
        """Withdraws it in the background."""
        for item in self._owned():
            self.connection.withdraw(item)

    def drop_later(self) -> bool:
        """The same from any thread. Returns whether there was something to withdraw."""
        is_left = self.item.withdrawn is None and self.item.end is None and not self.connection.is_closed
        for item in self._owned() if is_left else ():
            self.connection.withdraw_later(item)
        return is_left and self.item.lost_reason() is None

    async def end(self) -> None:
        """Withdraws it, and returns when the server has ended it. LostError if it had been lost before."""
        if (lost := self.item.lost_reason()) is not None:
            self.drop()
            raise LostError(lost)
        self.connection.check()
        self.drop()
        end = await self.connection.end(self.item)
        if not isinstance(end, Lost):
            raise LostError(Lost(LostReason.FORGOTTEN))
        if end != self.item.by_program():
            raise LostError(end)

    def _owned(self) -> tuple[Item, ...]:
        return (self.item, self.item.session) if self._owns_session else (self.item,)


@dataclass(frozen=True)
class Declarer:
    """Where claims and memberships are made: in a session that exists, or each in one of its own, with these parameters."""

    connection: Connection
    session: Item | None = None
    open: v1.DeclaredSession | None = None

    async def obtain(
        self,
        part: v1.DeclaredClaim | v1.DeclaredMembership | None,
        progress: tuple[Progress | None, Progress | None],
        wait: float | None,
    ) -> Part | Busy:
        """Declares a session, or a claim or membership, and waits for it, at most so long; None: for as long as it takes. The renewal
        of the session depends on its progress and on that of the claim."""
        self.connection.check()
        until = None if wait is None else clock.now() + wait
        # In a session that exists, a wait without an end may also wait for a server.
        has_limit = wait is not None or self.session is None
        reply = clock.now() + (wait or 0.0) + self.connection.call_timeout if has_limit else None
        backoff = Backoff()
        while True:
            made = self._declare(part, progress)
            try:
                outcome = await self._settle(made.item, until, reply)
            except TenureError as error:
                made.drop()
                await allow_another(error, backoff, reply)
                continue
            except BaseException:
                # The caller is cancelled: whatever reply is under way, or has just arrived.
                made.drop()
                raise
            if isinstance(outcome, Item):
                return made
            made.drop()
            # Not needed for the outcome: but when the caller reads the queue, the claim has left.
            with contextlib.suppress(TenureError):
                await self.connection.end(made.item)
            return outcome

    def _declare(
        self,
        part: v1.DeclaredClaim | v1.DeclaredMembership | None,
        progress: tuple[Progress | None, Progress | None],
    ) -> Part:
        if self.session is not None and (lost := self.session.lost_reason()) is not None:
            raise LostError(lost)
        item = self.connection.declare(
            open=None if self.session is not None else self.open,
            session=self.session,
            part=copy.deepcopy(part),
            progress=progress,
        )
        return Part(self.connection, item, owns_session=self.session is None and part is not None)

    async def _settle(self, item: Item, until: float | None, reply: float | None) -> Item | Busy:
        """Waits until it is granted, or open, or the locks are not free: if it is in the queue until `until` at most, if nothing is
        known of it until `reply`."""

        def look() -> Item | Busy | None:
            if isinstance(item.end, v1.BusyState):
                return Busy(item.end.holder if item.end.HasField("holder") else None)
            if isinstance(item.end, v1.Refusal):
                raise RefusedError(item.end)
            if (lost := item.lost_reason()) is not None:
                if lost.ended is not None and not item.is_session and item.session.lost_reason() is None:
                    raise claim_ended(lost.ended)
                raise LostError(lost)
            now, state = clock.now(), item.state
            if isinstance(state, v1.WaitingState):
                is_over = until is not None and now >= until
                return Busy(state.holder if state.HasField("holder") else None) if is_over else None
            if state is not None and item.session.validity is not None:
                return item
            if reply is not None and now >= reply:
                raise self.connection.unanswered()
            return None

        return await presence.wait(item, look, until, reply)


async def allow_another(error: TenureError, backoff: Backoff, reply: float | None) -> None:
    """Returns, after a pause, if another attempt is to be made after this error: it was a temporary rejection. Raises it otherwise."""
    pause = backoff.next_pause()
    is_temporary = False
    if isinstance(error, RefusedError):
        # A claim ends if the client reconnects too late; the caller still waits for the locks.
        is_late = error.reason == "CLAIM_ENDED" and error.metadata.get("end_reason") == "disconnected"
        is_temporary = error.is_transient or is_late
    if not is_temporary or (reply is not None and clock.now() + pause >= reply):
        raise error
    await asyncio.sleep(pause)


def claim_ended(ended: v1.EndedState) -> RefusedError:
    """The error of a claim that ended while it waited."""
    reason = word(ended.reason)
    message = f"the claim ended while it waited: {reason}"
    return RefusedError(v1.Refusal(reason="CLAIM_ENDED", message=message, metadata={"end_reason": reason}))
