"""Plain calls: reads and an operator's means, each a call of its own beside the stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

import grpc.aio

from tenure import convert, model
from tenure._link.connection import Connection
from tenure.aio.calling import call
from tenure.clock import SECOND, Seconds, nanoseconds
from tenure.history import HistoryEntry, history_entry
from tenure.v1 import group_pb2, history_pb2, lock_pb2, session_pb2
from tenure.v1.group_pb2_grpc import GroupServiceStub
from tenure.v1.lock_pb2_grpc import LockServiceStub
from tenure.v1.session_pb2_grpc import SessionServiceStub

if TYPE_CHECKING:
    from tenure.v1.group_pb2_grpc import GroupServiceAsyncStub
    from tenure.v1.lock_pb2_grpc import LockServiceAsyncStub
    from tenure.v1.session_pb2_grpc import SessionServiceAsyncStub

#: For how long a holder may go on by default when it is asked to hand over: the contract's.
DEFAULT_DRAIN = 10 * SECOND

T = TypeVar("T")


class Page(Protocol):
    """One page of a list."""

    next_page_token: str


P = TypeVar("P", bound=Page)


def locks(channel: grpc.aio.Channel) -> LockServiceAsyncStub:
    return cast("LockServiceAsyncStub", LockServiceStub(channel))


def sessions(channel: grpc.aio.Channel) -> SessionServiceAsyncStub:
    return cast("SessionServiceAsyncStub", SessionServiceStub(channel))


def groups(channel: grpc.aio.Channel) -> GroupServiceAsyncStub:
    return cast("GroupServiceAsyncStub", GroupServiceStub(channel))


class Calls:
    """The plain calls of a client. Each may raise UnavailableError and RefusedError."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def _namespace(self) -> str:
        return self._connection.engine.namespace

    async def get_lock(self, name: str) -> model.Lock:
        """Reads one lock. A lock that nobody ever asked for is an idle lock, not an error."""
        request = lock_pb2.GetLockRequest(namespace=self._namespace, name=name)
        answer = await call(self._connection, lambda at, timeout: locks(at).GetLock(request, timeout=timeout))
        return convert.lock(answer.lock) if answer.HasField("lock") else model.Lock(name)

    def list_locks(self, prefix: str = "") -> AsyncIterator[model.Lock]:
        """The locks that are held or waited for and whose names begin with `prefix`, in byte order of their names. Asked for
        page by page; each page is true at a revision of its own."""

        async def page(token: str) -> lock_pb2.ListLocksResponse:
            request = lock_pb2.ListLocksRequest(namespace=self._namespace, prefix=prefix, page_token=token)
            return await call(self._connection, lambda at, timeout: locks(at).ListLocks(request, timeout=timeout))

        return pages(page, lambda page: map(convert.lock, page.locks))

    def list_blocked(self, *, deadlocked_only: bool = False) -> AsyncIterator[model.BlockedClaim]:
        """The claims that wait, in the order in which they were made, with those that they wait for; or only those in a
        deadlock."""

        async def page(token: str) -> lock_pb2.ListBlockedResponse:
            request = lock_pb2.ListBlockedRequest(
                namespace=self._namespace, deadlocked_only=deadlocked_only, page_token=token
            )
            return await call(self._connection, lambda at, timeout: locks(at).ListBlocked(request, timeout=timeout))

        def items(page: lock_pb2.ListBlockedResponse) -> Iterable[model.BlockedClaim]:
            for blocked in page.blocked:
                blockers = convert.claims(blocked.blocked_by)
                yield model.BlockedClaim(convert.claim(blocked.claim), blockers, blocked.truncated)

        return pages(page, items)

    def history(self, name: str) -> AsyncIterator[HistoryEntry]:
        """Who held a lock, as far back as history is kept: the holds that last first, then those that are over, what ended last
        first. The next item may take a while where the server has to look through a long log for it."""

        async def page(token: str) -> history_pb2.ListHistoryResponse:
            request = history_pb2.ListHistoryRequest(namespace=self._namespace, name=name, page_token=token)
            return await call(self._connection, lambda at, timeout: locks(at).ListHistory(request, timeout=timeout))

        return pages(page, lambda page: map(history_entry, page.entries))

    async def get_session(self, session_id: str) -> model.SessionInfo:
        """Reads one open session, with claims of up to 1 MiB. RefusedError with SESSION_NOT_FOUND or SESSION_ENDED."""
        request = session_pb2.GetSessionRequest(namespace=self._namespace, session_id=session_id)
        answer = await call(self._connection, lambda at, timeout: sessions(at).GetSession(request, timeout=timeout))
        return convert.session(answer.session)

    def list_sessions(self) -> AsyncIterator[model.SessionInfo]:
        """The open sessions, oldest first."""

        async def page(token: str) -> session_pb2.ListSessionsResponse:
            request = session_pb2.ListSessionsRequest(namespace=self._namespace, page_token=token)
            return await call(self._connection, lambda at, timeout: sessions(at).ListSessions(request, timeout=timeout))

        return pages(page, lambda page: map(convert.session, page.sessions))

    async def evict(
        self, name: str, *, operator: str, note: str = "", token: int | None = None
    ) -> tuple[model.Claim, ...]:
        """Ends the hold of a lock against its holder's will (with a token: only that hold), and answers what was ended. For
        operators; recorded in history. After UnavailableError it may or may not have taken effect."""
        request = lock_pb2.EvictRequest(
            namespace=self._namespace, name=name, token=token or 0, operator=operator, note=note
        )
        # Without a token a second try could evict the next holder.
        answer = await call(
            self._connection,
            lambda at, timeout: locks(at).Evict(request, timeout=timeout),
            is_safe=bool(token),
        )
        return convert.claims(answer.evicted)

    async def transfer(
        self,
        name: str,
        *,
        operator: str,
        note: str = "",
        to: str | None = None,
        token: int | None = None,
        drain: Seconds | None = None,
    ) -> model.Claim:
        """Hands a lock over to a waiter (a session's id; default: the first in the queue): the holder is asked to stop, and
        confirms by releasing. Returns when it is done, with the new hold. For operators; recorded in history. `drain` is for how
        long the holder may go on, 0.1 s to 1 h; default 10 s.

        RefusedError with TRANSFER_IMPOSSIBLE, TRANSFER_PENDING, or TRANSFER_NOT_CONFIRMED if the holder did not stop in time, and
        holds on. After UnavailableError it may or may not have taken effect.
        """
        request = lock_pb2.TransferRequest(
            namespace=self._namespace, name=name, token=token or 0, to_session_id=to or "", operator=operator, note=note
        )
        if drain is not None:
            request.drain.CopyFrom(convert.to_wire(nanoseconds(drain)))
        # Without a token a second try could make the next holder hand over.
        answer = await call(
            self._connection,
            lambda at, timeout: locks(at).Transfer(request, timeout=timeout),
            is_safe=bool(token),
            wait=DEFAULT_DRAIN if drain is None else nanoseconds(drain),
        )
        return convert.claim(answer.claim)

    async def hand_over(self, name: str, session_id: str, token: int, to: str | None) -> int:
        """Hands over what a session of this client holds: see `Guard.transfer_to`. Answers the next token."""
        request = lock_pb2.TransferRequest(
            namespace=self._namespace, name=name, token=token, to_session_id=to or "", session_id=session_id
        )
        answer = await call(self._connection, lambda at, timeout: locks(at).Transfer(request, timeout=timeout))
        return answer.token

    async def update_claim(self, name: str, session_id: str, token: int, metadata: Mapping[str, str]) -> model.Claim:
        """Replaces the labels of a hold, by a name and the token of the hold."""
        request = lock_pb2.UpdateClaimRequest(
            namespace=self._namespace, name=name, session_id=session_id, token=token, metadata=metadata
        )
        answer = await call(self._connection, lambda at, timeout: locks(at).UpdateClaim(request, timeout=timeout))
        return convert.claim(answer.claim)

    async def configure_lock(
        self, name: str, settings: model.LockSettings, *, operator: str, note: str = ""
    ) -> model.Lock:
        """Sets what claims to a lock have to go by, in place of what was set before. For operators; recorded in history. Takes
        nothing from holders; waiters that ask for more permits than there are then, are ended."""
        request = lock_pb2.ConfigureLockRequest(
            namespace=self._namespace,
            name=name,
            settings=convert.settings_to_wire(settings),
            operator=operator,
            note=note,
        )
        answer = await call(self._connection, lambda at, timeout: locks(at).ConfigureLock(request, timeout=timeout))
        return convert.lock(answer.lock)

    async def get_group(self, name: str) -> model.Group:
        """Reads one group. A group that nobody ever joined is an empty group, not an error."""
        request = group_pb2.GetGroupRequest(namespace=self._namespace, group=name)
        answer = await call(self._connection, lambda at, timeout: groups(at).GetGroup(request, timeout=timeout))
        return convert.group(answer.group) if answer.HasField("group") else model.Group(name)

    def list_groups(self, prefix: str = "") -> AsyncIterator[model.Group]:
        """The groups that have members or a config and whose names begin with `prefix`, in byte order of their names."""

        async def page(token: str) -> group_pb2.ListGroupsResponse:
            request = group_pb2.ListGroupsRequest(namespace=self._namespace, prefix=prefix, page_token=token)
            return await call(self._connection, lambda at, timeout: groups(at).ListGroups(request, timeout=timeout))

        return pages(page, lambda page: map(convert.group, page.groups))

    async def configure_group(self, name: str, config: str | None, *, expected_revision: int | None = None) -> int:
        """Sets the value that a group shares, or clears it with None, and answers the revision of the event that set it (0 if there
        is none). With `expected_revision`: only if that is the revision of the config that is there; 0: only if there is none.

        RefusedError with CONFIG_CONFLICT if the config is not the expected one.
        """
        request = group_pb2.ConfigureGroupRequest(
            namespace=self._namespace, group=name, config=config, expected_revision=expected_revision
        )
        # Done twice, the second would find what the first has set, and not what is expected.
        answer = await call(
            self._connection,
            lambda at, timeout: groups(at).ConfigureGroup(request, timeout=timeout),
            is_safe=expected_revision is None,
        )
        return answer.config_revision

    async def join_group(self, name: str, session_id: str, metadata: Mapping[str, str]) -> tuple[int, model.Group]:
        """Makes an open session a member. Answers its number, and the group."""
        request = group_pb2.JoinGroupRequest(
            namespace=self._namespace, group=name, session_id=session_id, metadata=metadata
        )
        answer = await call(self._connection, lambda at, timeout: groups(at).JoinGroup(request, timeout=timeout))
        return answer.member, convert.group(answer.group)

    async def leave_group(self, name: str, session_id: str, member: int) -> None:
        """Ends a membership."""
        request = group_pb2.LeaveGroupRequest(
            namespace=self._namespace, group=name, session_id=session_id, member=member
        )
        await call(self._connection, lambda at, timeout: groups(at).LeaveGroup(request, timeout=timeout))

    async def assign_group(self, group: model.Group, leader: model.GroupLeader, assignments: model.Assignments) -> int:
        """Assigns on behalf of a leader what was computed from a group as it was. Answers the revision of that."""
        request = group_pb2.AssignGroupRequest(
            namespace=self._namespace,
            group=group.name,
            session_id=leader.session_id,
            token=leader.token,
            membership_revision=group.membership_revision,
            config_revision=group.config_revision,
            assignments=assignments,
        )
        answer = await call(self._connection, lambda at, timeout: groups(at).AssignGroup(request, timeout=timeout))
        return answer.assignments_revision


async def pages(read: Callable[[str], Awaitable[P]], items: Callable[[P], Iterable[T]]) -> AsyncIterator[T]:
    """All items of all pages."""
    token = ""
    while True:
        page = await read(token)
        for item in items(page):
            yield item
        token = page.next_page_token
        if not token:
            return
