"""Opens sessions, makes claims and memberships, and waits for what becomes of them."""

import asyncio
import contextlib
import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tenure import clock, presence, v1
from tenure.backoff import Backoff
from tenure.clock import Seconds
from tenure.connection import Connection
from tenure.error import Lost, LostError, LostReason, RefusedError, TenureError, word
from tenure.progress import Progress
from tenure.protocol import Declared, Item


@dataclass(frozen=True)
class Busy:
    """Another claim holds the locks. Is false, so that `if guard := lock.try_acquire():` is correct."""

    #: A claim that holds one of the names, or waits ahead for it.
    holder: v1.Claim | None

    def __bool__(self) -> Literal[False]:
        return False


class Part:
    """What was obtained: a session, a claim or a membership, with the session that was opened for it, if one was."""

    def __init__(self, connection: Connection, *items: Item) -> None:
        self.connection = connection
        self.items = items
        self.item = items[0]

    def drop(self) -> None:
        """Withdraws it in the background."""
        for item in self.items:
            item.lost = item.lost_reason() or item.by_program()
            self.connection.withdraw(item)

    def collect(self) -> bool:
        """The same for the garbage collector, in any thread. Returns whether it was still valid."""
        loop, is_left = self.connection.loop, any(item.withdrawn is None and item.end is None for item in self.items)
        if loop is None or self.connection.is_closed or not is_left:
            return False
        was_valid = self.item.lost_reason() is None
        # After the end of an event loop its sessions end by their TTLs.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self.drop)
        return was_valid

    async def end(self) -> None:
        """Withdraws it, and returns when the server has ended it. LostError if it had been lost before."""
        lost = self.item.lost_reason()
        if lost is None:
            self.connection.check()
        self.drop()
        if lost is None:
            end = await self.connection.end(self.item)
            lost = end if isinstance(end, Lost) else Lost(LostReason.FORGOTTEN)
            if lost == self.item.by_program():
                return
        raise LostError(lost)


@dataclass(frozen=True)
class Target:
    """Where claims and memberships are made: in a session that exists, or each in one of its own, with these
    parameters."""

    connection: Connection
    session: Item | None
    open: v1.DeclaredSession

    async def obtain(
        self,
        part: Declared | None,
        stall_after: Seconds | None = None,
        wait: float | None = None,
        on_declared: Callable[[Item], None] = lambda _: None,
    ) -> Part | Busy:
        """Declares a session, or a claim or membership, and waits for it, at most so long; None: for as long as it
        takes."""
        self.connection.check()
        until = None if wait is None else clock.now() + wait
        # In a session that exists, a wait without an end may also wait for a server.
        has_limit = wait is not None or self.session is None
        reply = clock.now() + (wait or 0.0) + self.connection.call_timeout if has_limit else None
        backoff = Backoff()
        while True:
            if self.session is not None and (lost := self.session.lost_reason()) is not None:
                raise LostError(lost)
            progress = None if stall_after is None else Progress(stall_after)
            open = None if self.session is not None else self.open
            item = self.connection.declare(open, self.session, copy.deepcopy(part), progress)
            on_declared(item)
            made = Part(self.connection, item, *(() if open is None or item.is_session else (item.session,)))
            try:
                busy = await self._settle(item, until, reply)
            except TenureError as error:
                made.drop()
                await allow_another(error, backoff, reply)
                continue
            except BaseException:
                # The caller is cancelled, whatever reply is under way or has just arrived.
                made.drop()
                raise
            if busy is None:
                return made
            made.drop()
            # Not needed for the outcome: but when the caller reads the queue, the claim has left.
            with contextlib.suppress(TenureError):
                await self.connection.end(item)
            return busy

    async def _settle(self, item: Item, until: float | None, reply: float | None) -> Busy | None:
        """Waits until it is granted, or open (None), or the locks are not free: if it is in the queue until `until` at
        most, if nothing is known of it until `reply`."""

        def look() -> tuple[Busy | None] | None:
            state, now = item.end or item.state, clock.now()
            is_over = until is not None and now >= until
            if isinstance(state, v1.BusyState) or (isinstance(state, v1.WaitingState) and is_over):
                return (Busy(state.holder if state.HasField("holder") else None),)
            if isinstance(state, v1.Refusal):
                raise RefusedError(state)
            if (lost := item.lost_reason()) is not None:
                if lost.ended is not None and item.session.lost_reason() is None:
                    raise claim_ended(lost.ended)
                raise LostError(lost)
            if state is None and reply is not None and now >= reply:
                raise self.connection.unanswered()
            is_granted = state is not None and not isinstance(state, v1.WaitingState)
            return (None,) if is_granted and item.session.validity is not None else None

        (busy,) = await presence.wait(item, look, until, reply)
        return busy


async def allow_another(error: TenureError, backoff: Backoff, reply: float | None) -> None:
    """Returns, after a pause, if another attempt is to be made after this error: it was a temporary rejection. Raises
    it otherwise."""
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
