"""The client for threads."""

from collections.abc import Iterable

from typing_extensions import Self, Unpack

from tenure import v1
from tenure._sync.election import Election
from tenure._sync.group import GroupRequest
from tenure._sync.lock import LockRequest, Session
from tenure._sync.portal import Entered, blocking, iterating, making, obtaining, run
from tenure.aio import client as aio
from tenure.aio import watch as aio_watch
from tenure.options.client import DEFAULT_ENDPOINT, ClientOptions, from_environment
from tenure.options.session import GroupOptions


class Watch(Entered[aio_watch.Watch]):
    """Events: each revision once and in order, across reconnects: see `tenure.aio.Watch`. `close` it, or use it as a
    context manager."""

    def close(self) -> None:
        """Ends the watch, also for a thread that waits for its next item."""

        async def close() -> None:
            self._inner.close()

        run(close())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> v1.WatchResponse:
        async def following() -> v1.WatchResponse | None:
            return await anext(self._inner, None)

        if (response := run(following())) is None:
            raise StopIteration
        return response


class Client(Entered[aio.Client]):
    """A client of the service, for one namespace. Any thread may use it.

    It connects in the background, to one server at a time, and fails over to the next; sessions, their holds, and their
    places in queues remain. Calls wait for a connection, each until its deadline. `close` it before the program ends,
    or use it as a context manager, so that its locks are free at once. A process that forks makes its clients
    afterwards.
    """

    def __init__(self, endpoints: str | Iterable[str] = DEFAULT_ENDPOINT, **options: Unpack[ClientOptions]) -> None:
        """See `tenure.aio.Client`: the same options, defaults, bounds and errors."""
        super().__init__(aio.Client(endpoints, **options))

    @classmethod
    def from_env(cls) -> Self:
        """A client for the variables `TENURE_...`: see `tenure.aio.Client.from_env`."""
        endpoints, options = from_environment()
        return cls(endpoints, **options)

    @property
    def namespace(self) -> str:
        """The namespace of everything that this client does."""
        return self._inner.namespace

    session = obtaining(Session, aio.Client.session)
    lock = making(LockRequest, aio.Client.lock)
    locks = making(LockRequest, aio.Client.locks)
    locked = making(LockRequest, aio.Client.locked)
    election = making(Election, aio.Client.election)
    watch = making(Watch, aio.Client.watch)
    close = blocking(aio.Client.close)

    get_lock = blocking(aio.Client.get_lock)
    list_locks = iterating(aio.Client.list_locks)
    list_blocked = iterating(aio.Client.list_blocked)
    history = iterating(aio.Client.history)
    get_session = blocking(aio.Client.get_session)
    list_sessions = iterating(aio.Client.list_sessions)
    evict = blocking(aio.Client.evict)
    transfer = blocking(aio.Client.transfer)
    configure_lock = blocking(aio.Client.configure_lock)
    get_group = blocking(aio.Client.get_group)
    list_groups = iterating(aio.Client.list_groups)
    configure_group = blocking(aio.Client.configure_group)

    def group(self, name: str, *, session: Session | None = None, **options: Unpack[GroupOptions]) -> GroupRequest:
        """Requests a membership in a group, in a session of its own, which ends with the membership; or in the given
        one of this client."""
        inner = None if session is None else session._inner
        return GroupRequest(self._inner.group(name, session=inner, **options))
