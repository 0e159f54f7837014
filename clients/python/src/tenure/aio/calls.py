"""Plain calls beside the stream: reads, and the actions of operators."""

from collections.abc import AsyncIterator, Sequence

from tenure import v1
from tenure.clock import from_wire
from tenure.connection import Connection

#: The contract's default of `TransferRequest.drain`, in seconds.
DEFAULT_DRAIN = 10.0


class Calls:
    """Requests and replies are the contract's messages. In requests, the namespace is set by the client. Each call may
    raise UnavailableError and RefusedError. Lists are requested page by page, so that stopping early costs nothing."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def get_lock(self, name: str) -> v1.Lock:
        """Reads one lock. A lock that was never requested is an idle lock, not an error."""
        return (
            await self._connection.call("LockService/GetLock", v1.GetLockRequest(name=name), v1.GetLockResponse)
        ).lock

    def list_locks(self, prefix: str = "") -> AsyncIterator[v1.Lock]:
        """The locks that are held or waited for and whose names begin with `prefix`, in byte order of their names. Each
        page is consistent at a revision of its own."""
        request = v1.ListLocksRequest(prefix=prefix)
        return self._connection.list("LockService/ListLocks", request, v1.ListLocksResponse, lambda page: page.locks)

    def list_blocked(self, *, deadlocked_only: bool = False) -> AsyncIterator[v1.BlockedClaim]:
        """The waiting claims, oldest first, with the claims that they wait for; or only those in a deadlock."""
        request = v1.ListBlockedRequest(deadlocked_only=deadlocked_only)
        return self._connection.list(
            "LockService/ListBlocked", request, v1.ListBlockedResponse, lambda page: page.blocked
        )

    def history(self, name: str) -> AsyncIterator[v1.HistoryEntry]:
        """The holds of a lock, as far back as history is kept: current holds first, then ended ones, the last end
        first. The next one may take a while if the server must search a long log for it."""
        request = v1.ListHistoryRequest(name=name)
        return self._connection.list(
            "LockService/ListHistory", request, v1.ListHistoryResponse, lambda page: page.entries
        )

    async def get_session(self, session_id: str) -> v1.Session:
        """Reads one open session, with as many of its claims as fit into 1 MiB. RefusedError with SESSION_NOT_FOUND or
        SESSION_ENDED."""
        request = v1.GetSessionRequest(session_id=session_id)
        return (await self._connection.call("SessionService/GetSession", request, v1.GetSessionResponse)).session

    def list_sessions(self) -> AsyncIterator[v1.Session]:
        """The open sessions, oldest first."""
        request = v1.ListSessionsRequest()
        return self._connection.list(
            "SessionService/ListSessions", request, v1.ListSessionsResponse, lambda page: page.sessions
        )

    async def evict(self, request: v1.EvictRequest) -> Sequence[v1.Claim]:
        """Ends the hold of a lock against its holder's will, and returns the ended claims: every hold of the lock, or
        only the one with the `token` of the request. For operators; recorded in history. After UnavailableError it may
        or may not have taken effect unless a token was given."""
        # Without a token a second attempt could evict the next holder.
        reply = await self._connection.call("LockService/Evict", request, v1.EvictResponse, is_safe=bool(request.token))
        return reply.evicted

    async def transfer(self, request: v1.TransferRequest) -> v1.Claim:
        """Hands a lock over to a waiter: the holder is asked to stop, and confirms by releasing. Returns when the
        handoff is complete, with the new hold. For operators; recorded in history. The lock has a holder at every
        moment.

        RefusedError with TRANSFER_IMPOSSIBLE (no holder, no waiter, ...), TRANSFER_PENDING, or TRANSFER_NOT_CONFIRMED
        if the holder did not stop in time, and keeps the lock. After UnavailableError it may or may not have taken
        effect.
        """
        wait = from_wire(request.drain) if request.HasField("drain") else DEFAULT_DRAIN
        # Without a token a second attempt could make the next holder hand over.
        is_safe = bool(request.token)
        reply = await self._connection.call(
            "LockService/Transfer", request, v1.TransferResponse, is_safe=is_safe, wait=wait
        )
        return reply.claim

    async def configure_lock(self, request: v1.ConfigureLockRequest) -> v1.Lock:
        """Sets the settings of a lock, in place of the previous ones. Holders keep what they hold; waiters that request
        more permits than the new limit are ended. For operators; recorded in history."""
        return (await self._connection.call("LockService/ConfigureLock", request, v1.ConfigureLockResponse)).lock

    async def get_group(self, name: str) -> v1.Group:
        """Reads one group. A group that was never joined is an empty group, not an error."""
        return (
            await self._connection.call("GroupService/GetGroup", v1.GetGroupRequest(group=name), v1.GetGroupResponse)
        ).group

    def list_groups(self, prefix: str = "") -> AsyncIterator[v1.Group]:
        """The groups that have members or a config and whose names begin with `prefix`, in byte order of their
        names."""
        request = v1.ListGroupsRequest(prefix=prefix)
        return self._connection.list(
            "GroupService/ListGroups", request, v1.ListGroupsResponse, lambda page: page.groups
        )

    async def configure_group(self, name: str, config: str | None, *, expected_revision: int | None = None) -> int:
        """Sets the config of a group, or clears it with None, and returns the revision of the event that set it (0 if
        there is none). With `expected_revision`: only if that is the revision of the current config; 0: only if there
        is no config.

        RefusedError with CONFIG_CONFLICT if the config is not the expected one. After UnavailableError it may or may
        not have taken effect.
        """
        request = v1.ConfigureGroupRequest(group=name, config=config, expected_revision=expected_revision)
        # A repeated call would find the config of the first one instead of the expected one.
        is_safe = expected_revision is None
        reply = await self._connection.call(
            "GroupService/ConfigureGroup", request, v1.ConfigureGroupResponse, is_safe=is_safe
        )
        return reply.config_revision
