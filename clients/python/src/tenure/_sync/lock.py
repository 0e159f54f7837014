"""Acquires locks, runs work only while they are held, and opens sessions for them."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar

from tenure._sync.portal import Entered, blocking, blocking_within, iterating, making, obtaining
from tenure.aio import guard as aio_guard
from tenure.aio import lock as aio
from tenure.aio import session as aio_session
from tenure.declare import Busy
from tenure.error import LostError, TenureError
from tenure.guard import HoldView
from tenure.session import SessionView

T = TypeVar("T")

log = logging.getLogger("tenure")


class Hold(HoldView):
    """A view of what is held, to hand around: it shows whether the hold is valid but does not keep it. Any thread may
    use it."""

    def __init__(self, hold: aio_guard.Hold) -> None:
        super().__init__(hold._item)
        self._inner = hold

    lost = blocking_within(aio_guard.Hold.lost)
    transfer_requested = blocking_within(aio_guard.Hold.transfer_requested)


class Guard(Hold):
    """Keeps what is held, until it is released. One that is not released when it is collected is released then, with a
    ResourceWarning."""

    def __init__(self, guard: aio_guard.Guard) -> None:
        super().__init__(guard)
        #: A view of the hold, to pass to threads.
        self.hold = Hold(guard.hold)
        #: The session that holds it.
        self.session = guard.session

    def __bool__(self) -> Literal[True]:
        return True

    release = blocking(aio_guard.Guard.release)
    update_metadata = blocking(aio_guard.Guard.update_metadata)
    transfer_to = blocking(aio_guard.Guard.transfer_to)


def _attempt(outcome: aio_guard.Guard | Busy) -> Guard | Busy:
    return outcome if isinstance(outcome, Busy) else Guard(outcome)


class LockRequest(contextlib.ContextDecorator):
    """A request for one or more locks. Nothing is requested before one of its methods is called, or it is entered.

    As a context manager, and as a decorator of a function, it waits for the locks, returns the hold, and releases the
    locks. A thread cannot be cancelled: a long body must check the hold (`check` between its steps, or `lost` in
    another thread) and stop. If the hold was lost meanwhile, the context manager raises LostError at the end of the
    body, unless the body itself raises another error.
    """

    def __init__(self, request: aio.LockRequest) -> None:
        self._inner = request
        self._local = threading.local()

    acquire = obtaining(Guard, aio.LockRequest.acquire)
    try_acquire = obtaining(_attempt, aio.LockRequest.try_acquire)
    acquire_within = obtaining(_attempt, aio.LockRequest.acquire_within)

    def run(self, body: Callable[[Hold], T]) -> T:
        """Waits for the locks, runs `body` while they are held, and releases them. LostError if the hold was lost
        meanwhile."""
        with self as hold:
            return body(hold)

    def try_run(self, body: Callable[[Hold], T]) -> T | Busy:
        """Makes one attempt; if the locks are free, runs `body` as `run` does, and returns its result. Otherwise
        returns Busy."""
        guard = self.try_acquire()
        if isinstance(guard, Busy):
            return guard
        with _holding(guard) as hold:
            return body(hold)

    def __enter__(self) -> Hold:
        scope = _holding(self.acquire())
        self._scopes().append(scope)
        return scope.__enter__()

    def __exit__(self, *exception: Any) -> None:
        self._scopes().pop().__exit__(*exception)

    def _scopes(self) -> list[contextlib.AbstractContextManager[Hold]]:
        """Those that this thread has entered."""
        scopes: list[contextlib.AbstractContextManager[Hold]] = self._local.__dict__.setdefault("scopes", [])
        return scopes


@contextlib.contextmanager
def _holding(guard: Guard) -> Iterator[Hold]:
    """Releases the locks, and raises LostError if they were lost."""
    try:
        yield guard.hold
    finally:
        lost = guard.lost_reason
        try:
            guard.release()
        except TenureError as problem:
            if lost is None:
                # The body did run under the lock.
                log.warning("the lock was not released cleanly: %s", problem)
    if lost is not None:
        raise LostError(lost)


class Session(SessionView, Entered[aio_session.Session]):
    """This program's presence at the service. All its holds and waits end with it. Any thread may use it.

    It is renewed in the background. `close` it, or use it as a context manager.
    """

    def __init__(self, session: aio_session.Session) -> None:
        SessionView.__init__(self, session._item, session._declared)
        Entered.__init__(self, session)

    lost = blocking_within(aio_session.Session.lost)
    states = iterating(aio_session.Session.states)
    lock = making(LockRequest, aio_session.Session.lock)
    locks = making(LockRequest, aio_session.Session.locks)
    close = blocking(aio_session.Session.close)
