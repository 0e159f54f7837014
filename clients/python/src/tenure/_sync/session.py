"""Sessions: this program's presence at the service."""

from __future__ import annotations

from types import TracebackType

from typing_extensions import Self

from tenure._sync.lock import LockRequest
from tenure._sync.portal import blocking, blocking_within, iterating, making, run
from tenure.aio import session as aio
from tenure.session import SessionView


class Session(SessionView):
    """This program's presence at the service. All its holds and waits end with it. Any thread may use it.

    It is renewed in the background. `close` it, or use it as a context manager.
    """

    def __init__(self, session: aio.Session) -> None:
        super().__init__(session._item, session._declared)
        self._inner = session

    lost = blocking_within(aio.Session.lost)
    states = iterating(aio.Session.states)
    lock = making(LockRequest, aio.Session.lock)
    locks = making(LockRequest, aio.Session.locks)
    close = blocking(aio.Session.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        run(self._inner.__aexit__(kind, error, traceback))
