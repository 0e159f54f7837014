"""The client."""

from collections.abc import Iterable, Mapping
from typing import Any

from typing_extensions import Self, Unpack

from tenure import v1
from tenure.aio.calls import Calls
from tenure.aio.election import Election
from tenure.aio.group import GroupRequest
from tenure.aio.lock import LockRequest
from tenure.aio.session import Session
from tenure.aio.watch import Watch
from tenure.connection import Connection
from tenure.declare import Busy, Target
from tenure.error import TenureError, UnavailableError
from tenure.options.client import DEFAULT_ENDPOINT, ClientOptions, Destination, from_environment
from tenure.options.session import (
    ElectionOptions,
    GroupOptions,
    OwnLockOptions,
    SessionOptions,
    declared_session,
    split,
)
from tenure.transport.driver import start


class Client(Calls):
    """A client of the service, for one namespace, in the event loop in which it is used first.

    It connects in the background, to one server at a time, and fails over to the next; sessions, their holds, and their
    places in queues remain. Calls wait for a connection, each until its deadline. `close` it before the program ends,
    or use it as a context manager, so that its locks are free at once.
    """

    def __init__(self, endpoints: str | Iterable[str] = DEFAULT_ENDPOINT, **options: Unpack[ClientOptions]) -> None:
        """`endpoints`: the servers, as URLs (`http://` may be omitted, and the port 7420; `https://` uses TLS), in a
        list or a text separated by commas. They are equals.

        InvalidError if an option is invalid, a file cannot be read, or a token would be sent in plaintext; ForkedError
        after a fork of a process in which a client was in use.
        """
        super().__init__(Connection(Destination.of(endpoints, **options), start))

    @classmethod
    def from_env(cls) -> Self:
        """A client for `TENURE_ENDPOINTS` (separated by commas), `TENURE_NAMESPACE`, `TENURE_CA_CERT`,
        `TENURE_CLIENT_CERT`, `TENURE_CLIENT_KEY`, `TENURE_TLS_SERVER_NAME`, `TENURE_TOKEN` and `TENURE_TOKEN_FILE`,
        where they are set and not empty."""
        endpoints, options = from_environment()
        return cls(endpoints, **options)

    @property
    def namespace(self) -> str:
        """The namespace of everything that this client does."""
        return self._connection.target.namespace

    async def session(self, **options: Unpack[SessionOptions]) -> Session:
        """Opens a session, which is then renewed in the background. RefusedError (a TTL out of bounds, ...),
        UnavailableError."""
        split("session", SessionOptions, options)
        target = self._target(options)
        part = await target.obtain(None, options.get("stall_after"))
        if isinstance(part, Busy):
            raise UnavailableError("the session was not opened")
        return Session(part, target.open)

    def lock(self, name: str, **options: Unpack[OwnLockOptions]) -> LockRequest:
        """Requests a lock in a session of its own, which ends with the guard."""
        return self.locks([name], **options)

    def locks(self, names: Iterable[str], **options: Unpack[OwnLockOptions]) -> LockRequest:
        """Requests several locks at once, all or nothing, with one token: 1 to 16 different names."""
        own, claim = split("lock", OwnLockOptions, options)
        return LockRequest(self._target(own), None, names, claim)

    def locked(self, name: str, **options: Unpack[OwnLockOptions]) -> LockRequest:
        """Decorates a function: each call waits for the lock, and runs while it is held, as `async with
        client.lock(name)`."""
        return self.locks([name], **options)

    def election(self, name: str, **options: Unpack[ElectionOptions]) -> Election:
        """A candidacy in an election."""
        split("election", ElectionOptions, options)
        return Election(self, name, self.lock(name, **options), options.get("stall_after"))

    def group(self, name: str, *, session: Session | None = None, **options: Unpack[GroupOptions]) -> GroupRequest:
        """Requests a membership in a group, in a session of its own, which ends with the membership; or in the given
        one of this client."""
        own, membership = split("group", GroupOptions, options)
        target = self._target(own) if session is None else session._target()
        return GroupRequest(self, target, session, v1.DeclaredMembership(group=name, **membership))

    def watch(self, request: v1.WatchRequest | None = None) -> Watch:
        """Watches locks and groups: with neither names nor prefixes nor groups, all locks. If the watch is rejected,
        the first item is the error."""
        return Watch(self._connection, request or v1.WatchRequest())

    async def close(self) -> None:
        """Closes all sessions of this client and ends its connection. UnavailableError if no server confirmed it in
        time; the sessions then end by their TTLs."""
        await self._connection.close()

    def _target(self, options: Mapping[str, Any]) -> Target:
        return Target(self._connection, None, declared_session(options))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            await self.close()
        except TenureError:
            # The error of the body says more.
            if kind is None:
                raise
