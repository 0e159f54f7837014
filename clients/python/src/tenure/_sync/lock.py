"""Asking for locks, what is held, and running something only while it is."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Literal, TypeVar

from tenure._sync.portal import run, within
from tenure._sync.session import Session
from tenure.aio import guard as aio_guard
from tenure.aio import lock as aio_lock
from tenure.aio.lock import Done
from tenure.clock import SECOND, Seconds, nanoseconds
from tenure.errors import Lost, LostError, TenureError
from tenure.handoff import TransferRequest
from tenure.model import Busy

T = TypeVar("T")

log = logging.getLogger("tenure")


class Hold:
    """A view of what is held, to hand around: it tells whether the hold is valid but does not keep it. Any thread may ask."""

    def __init__(self, hold: aio_guard.Hold) -> None:
        self._hold = hold

    @property
    def token(self) -> int:
        """The fencing token, to be sent along with every write that the lock protects. Greater than all tokens granted before
        it in the namespace."""
        return self._hold.token

    @property
    def names(self) -> tuple[str, ...]:
        """The locks that are held, in byte order."""
        return self._hold.names

    def is_valid(self) -> bool:
        """Whether the server cannot have given the locks away, decided by the clock at this very moment. Once False it stays
        so. A program may still be paused right after asking: that is what the token is for."""
        return self._hold.is_valid()

    def check(self) -> None:
        """Raises LostError unless the hold is valid at this very moment: for long work, between its steps."""
        self._hold.check()

    @property
    def lost_reason(self) -> Lost | None:
        """Why it is lost, if it is."""
        return self._hold.lost_reason

    def lost(self, timeout: float | None = None) -> Lost | None:
        """Waits until the hold is lost or released: before the server could give the locks away, or as soon as it says so. None
        if it is neither after so many seconds."""
        return run(within(self._hold.lost(), timeout))

    @property
    def transfer_request(self) -> TransferRequest | None:
        """The last request to hand over, if there was one."""
        return self._hold.transfer_request

    def transfer_requested(self, timeout: float | None = None) -> TransferRequest | None:
        """Waits until the server asks to hand the locks over. The work should then be stopped and the locks released, which
        confirms the handoff; if they are not in time, the hold goes on. None if it does not ask in so many seconds."""
        return run(within(self._hold.transfer_requested(), timeout))

    def tick(self) -> None:
        """The work under the hold gets on: see `stall_after`, without which this does nothing. Cheap."""
        self._hold.tick()


class Guard(Hold):
    """Keeps what is held, until it is released. One that is forgotten gives the locks back when it is garbage, with a
    ResourceWarning."""

    def __init__(self, guard: aio_guard.Guard) -> None:
        super().__init__(guard)
        self._guard = guard

    def __bool__(self) -> Literal[True]:
        return True

    @property
    def hold(self) -> Hold:
        """A view of what is held, to hand to threads."""
        return Hold(self._guard.hold)

    @property
    def session(self) -> Session:
        """The session that holds it."""
        return Session(self._guard.session)

    def release(self) -> None:
        """Gives the locks back, and returns when the server has done so.

        LostError if the hold had been lost before, even if only the server knows that; UnavailableError if no server answered in
        time, which is then tried further in the background; RefusedError.
        """
        run(self._guard.release())

    def update(self, metadata: Mapping[str, str]) -> None:
        """Replaces the labels of the claim."""
        run(self._guard.update(metadata))

    def transfer_to(self, session_id: str | None = None) -> int:
        """Hands the locks over to a session that waits for them (None: to whoever is first in the queue), in one step. Answers
        the next holder's token. The work must have stopped: see `tenure.aio.Guard.transfer_to`."""
        return run(self._guard.transfer_to(session_id))


class LockRequest:
    """What to ask for, and how. Nothing is asked before one of its methods is called, or it is entered.

    As a context manager it waits for the locks, gives the hold, and gives the locks back. A thread cannot be cancelled: a body
    that takes long has to look at the hold (`check` between its steps, or `lost` in another thread) and stop. If the hold was
    lost meanwhile, the context manager raises LostError at the end of the body, unless the body itself raises something else.

    Threads that ask for the same name in the same session queue up in the client, in order of arrival.
    """

    def __init__(self, request: aio_lock.LockRequest) -> None:
        self._request = request
        self._guards = threading.local()

    def acquire(self) -> Guard:
        """Waits for the locks, for as long as it takes. LostError if the session was lost while waiting."""
        return Guard(run(self._request.acquire()))

    def try_acquire(self) -> Guard | Busy:
        """Tries once. That somebody else holds the locks is no error: then it is Busy, which is false."""
        guard = run(self._request.try_acquire())
        return guard if isinstance(guard, Busy) else Guard(guard)

    def acquire_within(self, wait: Seconds) -> Guard | Busy:
        """Waits for the locks, at most this long (at most 365 days)."""
        guard = run(self._request.acquire_within(nanoseconds(wait) / SECOND))
        return guard if isinstance(guard, Busy) else Guard(guard)

    def run(self, body: Callable[[Hold], T]) -> T:
        """Waits for the locks, runs `body` while they are held, and gives them back. LostError if the hold was lost meanwhile."""
        guard = self.acquire()
        with _Scope(guard):
            return body(guard.hold)

    def try_run(self, body: Callable[[Hold], T]) -> Done[T] | Busy:
        """Tries once; if the locks are free, runs `body` as `run` does."""
        guard = self.try_acquire()
        if isinstance(guard, Busy):
            return guard
        with _Scope(guard):
            return Done(body(guard.hold))

    def __enter__(self) -> Hold:
        guard = self.acquire()
        self._entered().append(_Scope(guard))
        return guard.hold

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._entered().pop().__exit__(kind, error, traceback)

    def _entered(self) -> list[_Scope]:
        """What this thread is in."""
        if not hasattr(self._guards, "scopes"):
            self._guards.scopes = []
        scopes: list[_Scope] = self._guards.scopes
        return scopes


class _Scope:
    """Gives the locks back, and tells if they were lost."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        lost = self._guard.lost_reason
        try:
            self._guard.release()
        except TenureError as problem:
            if lost is None:
                # The body did run under the lock.
                log.warning("the lock was not given back cleanly: %s", problem)
        if lost is not None and (kind is None or issubclass(kind, LostError)):
            raise LostError(lost) from error
