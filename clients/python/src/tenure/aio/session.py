"""Sessions: this program's presence at the service."""

import asyncio
import contextlib
import warnings
from collections.abc import AsyncIterator, Iterable
from types import TracebackType

from typing_extensions import Self, Unpack

from tenure import clock
from tenure._engine.openings import SessionSpec
from tenure._engine.reply import Reply
from tenure._engine.sessions import Live
from tenure._link.connection import Connection
from tenure.aio._waiting import changes_of, nap, replying, session_lost
from tenure.aio.lock import LockRequest
from tenure.clock import seconds
from tenure.errors import Lost, LostReason, TenureError
from tenure.presence import SessionState
from tenure.request import ClaimOptions, acquire_spec


class Session:
    """This program's presence at the service. What it holds and waits for ends when it ends.

    It keeps itself alive in the background. `close` it, or use it as a context manager.
    """

    def __init__(self, connection: Connection, live: Live) -> None:
        self._connection = connection
        self._live = live

    @classmethod
    async def open(cls, connection: Connection, spec: SessionSpec) -> Self:
        """Opens one. `Client.session` is the way to it."""
        connection.check_open()
        future: asyncio.Future[Live] = connection.loop.create_future()
        now = clock.now()
        connection.engine.openings.open(spec, now + connection.call_timeout, replying(future), now)
        connection.wake()
        try:
            return cls(connection, await future)
        except asyncio.CancelledError:
            # It may have been opened in the same moment.
            if future.done() and not future.cancelled() and future.exception() is None:
                cls(connection, future.result()).close_in_background()
            raise

    @property
    def id(self) -> str:
        """Its id."""
        return self._live.id

    @property
    def owner(self) -> str:
        """Its owner label."""
        return self._live.owner

    @property
    def ttl(self) -> float:
        """The TTL that the server granted, in seconds."""
        return seconds(self._live.presence.validity.ttl)

    @property
    def disconnect_grace(self) -> float | None:
        """The disconnect grace that the server granted, in seconds."""
        grace = self._live.presence.validity.disconnect_grace
        return None if grace is None else seconds(grace)

    @property
    def state(self) -> SessionState:
        """Where it stands, decided by the clock at this very moment."""
        return self._live.presence.check(clock.now())

    def is_valid(self) -> bool:
        """Whether the server cannot have given its locks away, decided by the clock at this very moment: a process that was
        paused for too long gets False on waking. Once False it stays so."""
        return self._live.presence.is_valid()

    @property
    def valid_for(self) -> float:
        """In how many seconds the session is lost if nothing more is heard from the server. 0 once it is lost."""
        left = self._live.presence.validity.until - clock.now()
        return seconds(max(left, 0)) if self.is_valid() else 0.0

    @property
    def lost_reason(self) -> Lost | None:
        """Why it is lost, if it is."""
        return None if self.is_valid() else self._live.presence.lost

    async def states(self) -> AsyncIterator[SessionState]:
        """Where it stands, now and after each change, until it is lost. Who is slow sees the latest."""
        presence = self._live.presence
        told: SessionState | None = None
        with changes_of(presence.changed) as changed:
            while told != SessionState.LOST:
                state = presence.check(clock.now())
                if state != told:
                    told = state
                    yield state
                else:
                    await nap(changed, presence.validity.next_change(clock.now()))

    async def lost(self) -> Lost:
        """Waits until the session is lost: before the server could give its locks away, or as soon as the server says so."""
        return await session_lost(self._live.presence)

    def tick(self) -> None:
        """The program gets on: see `stall_after`, without which this does nothing. Cheap; any thread may do it."""
        if self._live.presence.progress is not None:
            self._live.presence.progress.tick(clock.now())

    def lock(self, name: str, **options: Unpack[ClaimOptions]) -> LockRequest:
        """Asks for a lock in this session."""
        return self.locks([name], **options)

    def locks(self, names: Iterable[str], **options: Unpack[ClaimOptions]) -> LockRequest:
        """Asks for several locks at once, all or nothing, with one token: 1 to 16 different names."""
        return LockRequest(self._given, acquire_spec(names, **options), is_own=False)

    async def close(self) -> None:
        """Closes the session, and with it all that it holds and waits for. Returns when the server has done so.

        UnavailableError if no server answered in time; the session then ends by its TTL at the latest.
        """
        if not self._connection.origin.is_here:
            # It is the process before the fork that closes it.
            return
        self._connection.check_open()
        future: asyncio.Future[None] = self._connection.loop.create_future()
        reply: Reply[None] = replying(future)
        now = clock.now()
        engine = self._connection.engine
        engine.timers.set(now + self._connection.call_timeout, lambda _: engine.closings.give_up(self.id, reply))
        engine.sessions.close(self._live, now, reply)
        self._connection.wake()
        await future

    def close_in_background(self) -> None:
        """Closes it without waiting for that."""
        if not self._connection.origin.is_here:
            return
        self._live.presence.end(Lost(LostReason.CLOSED))
        self._connection.engine.sessions.close(self._live, clock.now())
        self._connection.wake()

    async def _given(self) -> "Session":
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._connection.is_closed:
            return
        try:
            await self.close()
        except TenureError:
            # What the body raised says more.
            if kind is None:
                raise

    def __del__(self) -> None:
        if getattr(self, "_live", None) is None or self._live.presence.lost is not None or self._connection.is_closed:
            return
        warnings.warn(f"session {self.id} was not closed", ResourceWarning, source=self, stacklevel=1)
        # A loop that has ended can tell nobody: the session ends by its TTL.
        with contextlib.suppress(RuntimeError):
            connection, live = self._connection, self._live
            connection.loop.call_soon_threadsafe(lambda: Session(connection, live).close_in_background())
