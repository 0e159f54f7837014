"""Sessions: this program's presence at the service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from typing_extensions import Self, Unpack

from tenure._sync.portal import each, run, within
from tenure.aio import session as aio
from tenure.errors import Lost
from tenure.presence import SessionState
from tenure.request import ClaimOptions

if TYPE_CHECKING:
    from tenure._sync.lock import LockRequest


class Session:
    """This program's presence at the service. What it holds and waits for ends when it ends. Any thread may use it.

    It keeps itself alive in the background. `close` it, or use it as a context manager.
    """

    def __init__(self, session: aio.Session) -> None:
        self._session = session

    @property
    def id(self) -> str:
        """Its id."""
        return self._session.id

    @property
    def owner(self) -> str:
        """Its owner label."""
        return self._session.owner

    @property
    def ttl(self) -> float:
        """The TTL that the server granted, in seconds."""
        return self._session.ttl

    @property
    def disconnect_grace(self) -> float | None:
        """The disconnect grace that the server granted, in seconds."""
        return self._session.disconnect_grace

    @property
    def state(self) -> SessionState:
        """Where it stands, decided by the clock at this very moment."""
        return self._session.state

    def is_valid(self) -> bool:
        """Whether the server cannot have given its locks away, decided by the clock at this very moment. Once False it stays
        so."""
        return self._session.is_valid()

    @property
    def valid_for(self) -> float:
        """In how many seconds the session is lost if nothing more is heard from the server. 0 once it is lost."""
        return self._session.valid_for

    @property
    def lost_reason(self) -> Lost | None:
        """Why it is lost, if it is."""
        return self._session.lost_reason

    def lost(self, timeout: float | None = None) -> Lost | None:
        """Waits until the session is lost: before the server could give its locks away, or as soon as the server says so. None if
        it is not after so many seconds."""
        return run(within(self._session.lost(), timeout))

    def states(self) -> Iterator[SessionState]:
        """Where it stands, now and after each change, until it is lost."""
        return each(self._session.states())

    def tick(self) -> None:
        """The program gets on: see `stall_after`, without which this does nothing. Cheap."""
        self._session.tick()

    def lock(self, name: str, **options: Unpack[ClaimOptions]) -> LockRequest:
        """Asks for a lock in this session."""
        return self.locks([name], **options)

    def locks(self, names: Iterable[str], **options: Unpack[ClaimOptions]) -> LockRequest:
        """Asks for several locks at once, all or nothing, with one token: 1 to 16 different names."""
        from tenure._sync.lock import LockRequest

        return LockRequest(self._session.locks(names, **options))

    def close(self) -> None:
        """Closes the session, and with it all that it holds and waits for. Returns when the server has done so."""
        run(self._session.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        run(self._session.__aexit__(kind, error, traceback))
