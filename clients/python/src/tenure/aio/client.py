"""The client: where everything begins."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import ParamSpec, TypeVar

from typing_extensions import Self, Unpack

from tenure._link.connection import Connection
from tenure.aio.calls import Calls
from tenure.aio.election import Election
from tenure.aio.group import GroupRequest
from tenure.aio.lock import LockRequest
from tenure.aio.session import Session
from tenure.aio.watch import Watch
from tenure.clock import Seconds, nanoseconds
from tenure.endpoint import parse_endpoints
from tenure.errors import InvalidError, TenureError
from tenure.options import (
    DEFAULT_CALL_TIMEOUT,
    DEFAULT_CONNECT_TIMEOUT,
    DEFAULT_ENDPOINT,
    DEFAULT_NAMESPACE,
    DEFAULT_TTL,
    from_environment,
)
from tenure.request import (
    ElectionOptions,
    GroupOptions,
    LockOptions,
    acquire_spec,
    claim_options,
    own_session,
    session_spec,
)
from tenure.security import Security, SecurityOptions

P = ParamSpec("P")
T = TypeVar("T")


class Client(Calls):
    """A client of the service, for one namespace, in the event loop in which it was made.

    It connects in the background, to one server at a time, and goes to the next when that fails; sessions, what they hold, and
    their places in queues go along. Calls wait for a connection, each until its deadline. `close` it before the program ends, or
    use it as a context manager, so that what it holds is free at once.
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
        """`endpoints`: the servers, as URLs (`http://` may be left out; TLS is spoken at `https://`), in a list or a text separated by
        commas. They are equals.

        `connect_timeout`: how long connecting to one server may take. Servers that hang are not waited for: the next is tried beside
        them. `call_timeout`: how long a call may take, retries at other servers included; one that waits for a lock may take this
        longer than its wait.

        `ca_cert`: who signs the servers' certificates, a PEM file; default those whom the system trusts. `client_cert`, `client_key`:
        this client's certificate and its private key, PEM files. `tls_server_name`: the name that the servers' certificates must have;
        default the endpoint's host. `token`, or `token_file`: what says who this is. See `SecurityOptions`.

        InvalidError if one of these cannot be used, a file cannot be read, or a token would go out in the clear.
        """
        timeouts = {"connect_timeout": nanoseconds(connect_timeout), "call_timeout": nanoseconds(call_timeout)}
        for field, timeout in timeouts.items():
            if timeout <= 0:
                raise InvalidError(field, "it is to be more than zero")
        servers = parse_endpoints(endpoints)
        secured = Security(**security)
        secured.check(servers)
        super().__init__(Connection(servers, secured, namespace, **timeouts))
        self._called = namespace

    @classmethod
    def from_env(cls) -> Self:
        """A client for `TENURE_ENDPOINTS` (separated by commas), `TENURE_NAMESPACE`, `TENURE_CA_CERT`, `TENURE_CLIENT_CERT`,
        `TENURE_CLIENT_KEY`, `TENURE_TLS_SERVER_NAME`, `TENURE_TOKEN` and `TENURE_TOKEN_FILE`, where they are set and not empty."""
        endpoints, namespace, security = from_environment()
        return cls(endpoints, namespace=namespace, **security)

    @property
    def namespace(self) -> str:
        """The namespace of all that this client does."""
        return self._called

    async def session(
        self,
        *,
        ttl: Seconds = DEFAULT_TTL,
        disconnect_grace: Seconds | None = None,
        owner: str = "",
        metadata: Mapping[str, str] | None = None,
        session_id: str | None = None,
        stall_after: Seconds | None = None,
    ) -> Session:
        """Opens a session, which then keeps itself alive.

        `ttl`: how long it outlives this program if that dies, 0.5 s to 24 h. `disconnect_grace`: how long it outlives this program's
        connection, 0.1 s to the TTL; default none, the TTL alone counts. `owner`: who this is, for people, at most 255 bytes.
        `metadata`: free labels, at most 4096 bytes. `session_id`: 1 to 128 bytes, which no two programs may use at the same time;
        default a fresh one. `stall_after`: it is renewed only while the last `Session.tick` is less than this ago; default renewed
        while the client runs.
        """
        spec = session_spec(ttl, disconnect_grace, owner, metadata, session_id, stall_after)
        return await Session.open(self._connection, spec)

    def lock(self, name: str, **options: Unpack[LockOptions]) -> LockRequest:
        """Asks for a lock in a session of its own, which ends with the guard."""
        return self.locks([name], **options)

    def locks(self, names: Iterable[str], **options: Unpack[LockOptions]) -> LockRequest:
        """Asks for several locks at once, all or nothing, with one token: 1 to 16 different names."""
        spec = acquire_spec(names, **claim_options(options))
        return LockRequest(lambda: Session.open(self._connection, own_session(options)), spec, is_own=True)

    def locked(
        self, name: str, **options: Unpack[LockOptions]
    ) -> Callable[[Callable[P, Awaitable[T]]], Callable[P, Awaitable[T]]]:
        """Has each call of a function wait for a lock, and run while it is held: as `async with client.lock(name)`."""

        def decorate(function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
            @functools.wraps(function)
            async def under_lock(*arguments: P.args, **named: P.kwargs) -> T:
                async with self.lock(name, **options):
                    return await function(*arguments, **named)

            return under_lock

        return decorate

    def election(self, name: str, **options: Unpack[ElectionOptions]) -> Election:
        """A candidate's part in an election."""
        return Election(self, name, options)

    def group(self, name: str, *, session: Session | None = None, **options: Unpack[GroupOptions]) -> GroupRequest:
        """Takes part in a group, in a session of its own, which ends with the membership; or in one that is given."""
        return GroupRequest(self, name, session, options)

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
        return Watch(self._connection, names, prefixes, groups, after_revision)

    async def close(self) -> None:
        """Closes all sessions of this client and ends its connection. UnavailableError if no server answered in time; the sessions
        then end by their TTLs."""
        await self._connection.shut_down()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self.close()
        except TenureError:
            # What the body raised says more.
            if kind is None:
                raise
