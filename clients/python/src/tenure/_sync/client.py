"""The client for threads: where everything begins."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import ParamSpec, TypeVar

from typing_extensions import Self, Unpack

from tenure._sync.calls import Calls
from tenure._sync.election import Election
from tenure._sync.group import GroupRequest
from tenure._sync.lock import LockRequest
from tenure._sync.portal import run
from tenure._sync.session import Session
from tenure._sync.watch import Watch
from tenure.aio.client import Client as AioClient
from tenure.clock import Seconds
from tenure.options import (
    DEFAULT_CALL_TIMEOUT,
    DEFAULT_CONNECT_TIMEOUT,
    DEFAULT_ENDPOINT,
    DEFAULT_NAMESPACE,
    DEFAULT_TTL,
    from_environment,
)
from tenure.request import ElectionOptions, GroupOptions, LockOptions
from tenure.security import SecurityOptions

P = ParamSpec("P")
T = TypeVar("T")


class Client(Calls):
    """A client of the service, for one namespace. Any thread may use it.

    It connects in the background, to one server at a time, and goes to the next when that fails; sessions, what they hold, and
    their places in queues go along. Calls wait for a connection, each until its deadline. `close` it before the program ends, or
    use it as a context manager, so that what it holds is free at once. A process that forks makes its clients afterwards.
    """

    def __init__(
        self,
        endpoints: str | Iterable[str] = DEFAULT_ENDPOINT,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        connect_timeout: Seconds = DEFAULT_CONNECT_TIMEOUT,
        call_timeout: Seconds = DEFAULT_CALL_TIMEOUT,
        **security: Unpack[SecurityOptions],
    ) -> None:
        """See `tenure.aio.Client`: the same options, defaults and bounds."""

        async def connected() -> AioClient:
            return AioClient(
                endpoints,
                namespace=namespace,
                connect_timeout=connect_timeout,
                call_timeout=call_timeout,
                **security,
            )

        self._client = run(connected())
        super().__init__(self._client)

    @classmethod
    def from_env(cls) -> Self:
        """A client for `TENURE_ENDPOINTS` (separated by commas), `TENURE_NAMESPACE`, `TENURE_CA_CERT`, `TENURE_CLIENT_CERT`,
        `TENURE_CLIENT_KEY`, `TENURE_TLS_SERVER_NAME`, `TENURE_TOKEN` and `TENURE_TOKEN_FILE`, where they are set and not empty."""
        endpoints, namespace, security = from_environment()
        return cls(endpoints, namespace=namespace, **security)

    @property
    def namespace(self) -> str:
        """The namespace of all that this client does."""
        return self._client.namespace

    def session(
        self,
        *,
        ttl: Seconds = DEFAULT_TTL,
        disconnect_grace: Seconds | None = None,
        owner: str = "",
        metadata: Mapping[str, str] | None = None,
        session_id: str | None = None,
        stall_after: Seconds | None = None,
    ) -> Session:
        """Opens a session, which then keeps itself alive. See `tenure.aio.Client.session`."""
        opened = self._client.session(
            ttl=ttl,
            disconnect_grace=disconnect_grace,
            owner=owner,
            metadata=metadata,
            session_id=session_id,
            stall_after=stall_after,
        )
        return Session(run(opened))

    def lock(self, name: str, **options: Unpack[LockOptions]) -> LockRequest:
        """Asks for a lock in a session of its own, which ends with the guard."""
        return self.locks([name], **options)

    def locks(self, names: Iterable[str], **options: Unpack[LockOptions]) -> LockRequest:
        """Asks for several locks at once, all or nothing, with one token: 1 to 16 different names."""
        return LockRequest(self._client.locks(names, **options))

    def locked(self, name: str, **options: Unpack[LockOptions]) -> Callable[[Callable[P, T]], Callable[P, T]]:
        """Has each call of a function wait for a lock, and run while it is held: as `with client.lock(name)`."""

        def decorate(function: Callable[P, T]) -> Callable[P, T]:
            @functools.wraps(function)
            def under_lock(*arguments: P.args, **named: P.kwargs) -> T:
                return self.lock(name, **options).run(lambda _: function(*arguments, **named))

            return under_lock

        return decorate

    def election(self, name: str, **options: Unpack[ElectionOptions]) -> Election:
        """A candidate's part in an election."""
        return Election(self._client.election(name, **options))

    def group(self, name: str, *, session: Session | None = None, **options: Unpack[GroupOptions]) -> GroupRequest:
        """Takes part in a group, in a session of its own, which ends with the membership; or in one that is given."""
        given = None if session is None else session._session
        return GroupRequest(self._client.group(name, session=given, **options))

    def watch(
        self,
        *,
        names: Iterable[str] = (),
        prefixes: Iterable[str] = (),
        groups: Iterable[str] = (),
        after_revision: int = 0,
    ) -> Watch:
        """Watches locks by name or prefix, and groups: at most 100 of each; with none of them all locks. Begins with a snapshot, or
        with the events after a revision that an earlier watch told. What cannot be watched is told by the first item."""
        wanted = functools.partial(
            self._client.watch, names=names, prefixes=prefixes, groups=groups, after_revision=after_revision
        )
        return Watch(wanted)

    def close(self) -> None:
        """Closes all sessions of this client and ends its connection. UnavailableError if no server answered in time; the sessions
        then end by their TTLs."""
        run(self._client.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        run(self._client.__aexit__(kind, error, traceback))
