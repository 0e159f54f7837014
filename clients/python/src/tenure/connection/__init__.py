"""The connection to the service, as its handles see it: what they declare, and plain calls beside the stream. The task that owns the
stream is in `transport`."""

from __future__ import annotations

import asyncio
import contextlib
import math
import uuid
from collections.abc import Callable

import grpc.aio

from tenure import clock, presence, process
from tenure.connection.call import Calls
from tenure.error import ClosedError, ForkedError, Lost, LostReason, TenureError, UnavailableError
from tenure.options.client import Target
from tenure.progress import Progress
from tenure.protocol import Declared, End, Item, Protocol

#: How often, in seconds, it is checked, while there is no progress, whether there is again.
LOOK_FOR_PROGRESS = 0.02


def new_client_id() -> str:
    """The random id of a client, which no other program uses."""
    return str(uuid.uuid4())


class Connection(Calls):
    """One client's connection to one server at a time. It runs in the event loop in which it is used first."""

    def __init__(self, target: Target, start: Callable[[Connection], asyncio.Task[None]]) -> None:
        process.register(self)
        super().__init__(target)
        self.protocol = Protocol(target.namespace, new_client_id())
        self.loop: asyncio.AbstractEventLoop | None = None
        #: Wakes the driver after a change.
        self.wake = asyncio.Event()
        self.driver: asyncio.Task[None] | None = None
        self._start = start
        self._forked_from: int | None = None
        #: Until when everything is to be withdrawn, if the client is being closed.
        self._closing: float | None = None
        #: What needs progress, and the sessions without it.
        self._needs: set[Item] = set()
        self._stalled: set[Item] = set()
        self._wire: grpc.aio.Channel | TenureError = UnavailableError("not connected yet")
        self._wire_changed = asyncio.Event()

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be requested any more: the client was closed, or belongs to the process before a fork."""
        return self._closing is not None or self._forked_from is not None

    @property
    def is_here(self) -> bool:
        """Whether it belongs to this process, and not to the one before a fork."""
        return self._forked_from is None

    def check(self) -> None:
        """Begins to connect, in the current event loop. ForkedError, ClosedError or, in another event loop, RuntimeError if nothing
        can be requested."""
        if self._forked_from is not None:
            raise ForkedError("this client was made", self._forked_from, "make a Client after the fork")
        if self._closing is not None:
            raise ClosedError
        if self.loop is None:
            self.loop = asyncio.get_running_loop()
            self.driver = self._start(self)
        elif self.loop is not asyncio.get_running_loop():
            raise RuntimeError("this client is in use in another event loop: make one for each")

    def forked(self, pid: int) -> None:
        """This process is a child of `pid`, to which everything of this client belongs."""
        self._forked_from = pid
        for item in list(self.protocol.items.values()):
            item.lost = item.lost or Lost(LostReason.FORKED)

    def declare(
        self,
        *,
        open: Declared | None = None,
        session: Item | None = None,
        part: Declared | None = None,
        progress: tuple[Progress | None, Progress | None] = (None, None),
    ) -> Item:
        """Declares a session, or something in one, or both, with the progress that their renewal depends on. Returns the item of the
        last."""
        self.check()
        item = self.protocol.declare(clock.now(), open=open, session=session, part=part)
        for one, needed in ((item.session, progress[0]), (item, progress[1])):
            if needed is not None:
                one.progress = needed
                self._needs.add(one)
        self.dispatch()
        return item

    def withdraw(self, item: Item) -> None:
        """Withdraws an item, in the background."""
        if self.is_here:
            self.protocol.withdraw(item, clock.now())
            self.dispatch()

    def withdraw_later(self, item: Item) -> None:
        """The same from any thread, as of the garbage collector."""
        if self.loop is not None and self.is_here:
            # After the end of an event loop its sessions end by their TTLs.
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self.withdraw, item)

    async def end(self, item: Item) -> End:
        """Waits for the end of what was withdrawn. UnavailableError if no server confirms it in time."""
        deadline = clock.now() + self.call_timeout

        def look() -> End | None:
            if item.end is None and clock.now() >= deadline:
                raise self.unanswered()
            return item.end

        return await presence.wait(item, look, deadline)

    def dispatch(self) -> None:
        """Passes on the changes of items, and wakes the driver."""
        while self.protocol.changed:
            item = self.protocol.changed.popleft()
            if item.since is None and item.progress is not None and (item.token or item.validity is not None):
                item.since = clock.now()
            if item.withdrawn is not None or item.end is not None:
                self._needs.discard(item)
            presence.notify(item)
        self.wake.set()

    def due(self, now: float) -> float | None:
        """Does what is due. Returns when to call it next, at the latest; None if the client is closed."""
        # First, because a keep-alive that is due must not renew a session without progress.
        self.check_progress(now)
        self.protocol.handle_timeout(now)
        self.dispatch()
        if self._closing is not None and (now >= self._closing or not self.protocol.items):
            return None
        look = now + LOOK_FOR_PROGRESS if self._stalled else math.inf
        return min(self.protocol.timeout, look, self._closing or math.inf)

    def check_progress(self, now: float) -> None:
        """Pauses the sessions without progress, and resumes the others."""
        before, self._stalled = self._stalled, set()
        for item in self._needs:
            if item.progress is not None and item.since is not None and item.progress.is_stalled(item.since, now):
                self._stalled.add(item.session)
        for session in self._stalled - before:
            self.protocol.pause(session, now)
        for session in before - self._stalled:
            self.protocol.resume(session, now)

    async def close(self) -> None:
        """Closes all sessions and ends all watches. UnavailableError if no server confirms it in time."""
        if not self.is_here:
            return
        if self._closing is None:
            self._closing = clock.now() + self.call_timeout
            for item in list(self.protocol.items.values()):
                if item.is_session:
                    self.withdraw(item)
            self.wake.set()
        if self.driver is not None:
            await asyncio.wait({self.driver})
        if any(item.is_session for item in self.protocol.items.values()):
            raise self.unanswered()

    def abandon(self) -> list[Item]:
        """Ends everything at once, because the event loop ends. Returns the open sessions, which the server still has."""
        self._closing = clock.now()
        items = list(self.protocol.items.values())
        for item in items:
            item.lost = item.lost_reason() or Lost(LostReason.CLOSED)
        return [item for item in items if item.validity is not None]

    def set_wire(self, wire: grpc.aio.Channel | TenureError) -> None:
        """The channel to the server that the stream is connected to, or why there is none."""
        self._wire = wire
        changed, self._wire_changed = self._wire_changed, asyncio.Event()
        changed.set()

    async def wire(self, deadline: float) -> tuple[grpc.aio.Channel, asyncio.Event]:
        """The channel to the server that the stream is connected to, and what is set when that changes. Waits for one until
        `deadline`, unless the credentials are rejected."""
        while True:
            self.check()
            wire, changed = self._wire, self._wire_changed
            if not isinstance(wire, TenureError):
                return wire, changed
            left = deadline - clock.now()
            if left <= 0 or not wire.is_transient:
                raise wire
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(changed.wait(), left)

    def unanswered(self) -> TenureError:
        """The error of a request without a reply."""
        return self._wire if isinstance(self._wire, TenureError) else UnavailableError("the server did not answer")
