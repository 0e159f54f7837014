"""Sessions: this program's presence at the service."""

import warnings
from collections.abc import AsyncGenerator, Iterable

from typing_extensions import Self, Unpack

from tenure import presence, v1
from tenure.aio.lock import LockRequest
from tenure.declare import Part, Target
from tenure.error import Lost, TenureError
from tenure.options.session import LockOptions, split
from tenure.session import SessionState, SessionView


class Session(SessionView):
    """This program's presence at the service. All its holds and waits end with it.

    It is renewed in the background. `close` it, or use it as a context manager.
    """

    def __init__(self, part: Part, declared: v1.DeclaredSession) -> None:
        super().__init__(part.item, declared)
        self._part = part

    async def states(self) -> AsyncGenerator[SessionState, None]:
        """Its state, now and after each change, until it is lost. A slow reader sees the latest."""
        async for state in presence.changes(self._item, lambda: self.state):
            yield state
            if state is SessionState.LOST:
                return

    async def lost(self) -> Lost:
        """Waits until the session is lost: before the server could end it, or as soon as it reports the end."""
        return await presence.lost(self._item)

    def lock(self, name: str, **options: Unpack[LockOptions]) -> LockRequest:
        """Requests a lock in this session."""
        return self.locks([name], **options)

    def locks(self, names: Iterable[str], **options: Unpack[LockOptions]) -> LockRequest:
        """Requests several locks at once, all or nothing, with one token: 1 to 16 different names."""
        split("lock", LockOptions, options)
        return LockRequest(self._target(), self, names, options)

    async def close(self) -> None:
        """Closes the session, with all its holds and waits. Returns when the server has closed it.

        UnavailableError if no server confirmed it in time; the session then ends by its TTL at the latest.
        """
        if not self._part.connection.is_closed:
            self._part.drop()
            await self._part.connection.end(self._item)

    def _target(self) -> Target:
        return Target(self._part.connection, self._item, self._declared)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            await self.close()
        except TenureError:
            # The error of the body says more.
            if kind is None:
                raise

    def __del__(self) -> None:
        if hasattr(self, "_part") and self._part.collect():
            warnings.warn(f"session {self.id} was not closed", ResourceWarning, source=self, stacklevel=1)
