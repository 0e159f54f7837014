"""Locks against a real server."""

import asyncio

import pytest

from tenure import (
    Busy,
    ClosedError,
    EndReason,
    HoldRecord,
    LockSettings,
    LostError,
    LostReason,
    Mode,
    RefusedError,
    UnavailableError,
)
from tenure.aio import Client, Done, Hold
from tests.integration.server import Server
from tests.integration.waiting import lock_until, soon, vacant, waiting


async def test_a_lock_is_held_by_one_until_it_is_released(client: Client) -> None:
    guard = await client.lock("job", owner="ann", metadata={"on": "host"}, priority=3).acquire()
    holder = (await client.get_lock("job")).holder
    assert holder is not None
    assert (holder.token, holder.owner, holder.metadata, holder.priority) == (guard.token, "ann", {"on": "host"}, 3)
    busy = await client.lock("job").try_acquire()
    assert isinstance(busy, Busy)
    assert busy.holder == holder
    await guard.release()
    with pytest.raises(LostError) as lost:
        guard.hold.check()
    assert lost.value.lost.reason == LostReason.RELEASED
    following = await client.lock("job").try_acquire()
    assert following
    assert following.token > guard.token
    await following.release()


async def test_several_locks_are_taken_all_or_none_with_one_token(client: Client) -> None:
    one = await client.lock("b").acquire()
    assert not await client.locks(["a", "b"]).try_acquire()
    assert (await client.get_lock("a")).holders == ()
    await one.release()
    async with client.locks(["b", "a"]) as hold:
        assert hold.names == ("a", "b")


async def test_who_waits_is_served_when_the_holder_goes(client: Client) -> None:
    guard = await client.lock("job").acquire()
    following = asyncio.ensure_future(client.lock("job").acquire())
    await waiting(client, "job")
    await guard.release()
    second = await soon(following)
    assert second.token > guard.token
    await second.release()


async def test_a_bounded_wait_ends_as_busy_and_leaves_nothing(client: Client) -> None:
    async with client.lock("job", owner="ann"):
        busy = await soon(client.lock("job").acquire_within(0.2))
        assert isinstance(busy, Busy)
        assert busy.holder is not None
        assert busy.holder.owner == "ann"
        assert (await client.get_lock("job")).waiters == ()


async def test_a_cancelled_wait_leaves_nothing_behind(client: Client) -> None:
    session = await client.session()
    guard = await client.lock("job").acquire()
    for request in (client.lock("job"), session.lock("job")):
        task = asyncio.ensure_future(request.acquire())
        await waiting(client, "job")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await waiting(client, "job", 0)
    await guard.release()
    # The session can ask again.
    async with session.lock("job"):
        pass
    await session.close()
    await vacant(client, "job")


async def test_requests_of_one_session_queue_up_in_the_client(client: Client) -> None:
    async with await client.session() as session:
        tokens: list[int] = []

        async def body(hold: Hold) -> None:
            tokens.append(hold.token)
            await asyncio.sleep(0)

        await soon(asyncio.gather(*(session.lock("job").run(body) for _ in range(20))))
        assert tokens == sorted(set(tokens))


async def test_permits_and_shared_locks(client: Client) -> None:
    async with client.lock("pool", permits=2, limit=3), client.lock("pool", permits=1):
        assert not await client.lock("pool", permits=1).try_acquire()
        lock = await client.get_lock("pool")
        assert [(claim.mode, claim.permits, claim.limit) for claim in lock.holders] == [
            (Mode.PERMITS, 2, 3),
            (Mode.PERMITS, 1, 3),
        ]
    async with client.lock("doc", shared=True), client.lock("doc", shared=True):
        assert not await client.lock("doc").try_acquire()


async def test_the_body_is_cancelled_on_loss_and_the_scope_says_why(client: Client) -> None:
    ran_on = False
    with pytest.raises(LostError) as lost:
        async with client.lock("job") as hold:
            await client.evict("job", token=hold.token, operator="ops", note="stuck")
            await soon(asyncio.get_running_loop().create_future())
            ran_on = True
    assert not ran_on
    assert (lost.value.lost.end_reason, lost.value.lost.operator) == (EndReason.EVICTED, "ops")
    # The cancellation was taken back.
    await asyncio.sleep(0)


async def test_a_scope_leaves_a_cancellation_of_others_alone(client: Client) -> None:
    held = asyncio.Event()

    async def body() -> None:
        async with client.lock("job"):
            held.set()
            await asyncio.get_running_loop().create_future()

    task = asyncio.ensure_future(body())
    await soon(held.wait())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await vacant(client, "job")


async def test_an_error_of_the_body_comes_out_and_the_lock_is_given_back(client: Client) -> None:
    with pytest.raises(ZeroDivisionError):
        async with client.lock("job"):
            raise ZeroDivisionError
    assert not (await client.get_lock("job")).holders


async def test_bodies_and_decorated_functions_run_under_the_lock(client: Client) -> None:
    async def body(hold: Hold) -> int:
        ran = await client.lock("job").try_run(body)
        assert isinstance(ran, Busy)
        return hold.token

    ran = await client.lock("job").try_run(body)
    assert isinstance(ran, Done)
    assert await client.lock("job").run(body) > ran.value

    @client.locked("job", owner="decorated")
    async def function(number: int) -> tuple[int, str]:
        holder = (await client.get_lock("job")).holder
        assert holder is not None
        return number, holder.owner

    assert await function(7) == (7, "decorated")


async def test_a_forgotten_guard_gives_its_lock_back(client: Client) -> None:
    guard = await client.lock("job", ttl=60).acquire()
    with pytest.warns(ResourceWarning, match="was not released"):
        del guard
    await vacant(client, "job")


async def test_labels_are_replaced_and_a_hold_is_handed_over(client: Client) -> None:
    guard = await client.lock("job").acquire()
    await guard.update({"phase": "end"})
    following = asyncio.ensure_future(client.lock("job", owner="next").acquire())
    lock = await waiting(client, "job")
    assert lock.holders[0].metadata == {"phase": "end"}
    token = await guard.transfer_to(lock.waiters[0].session_id)
    second = await soon(following)
    assert second.token == token
    assert not guard.is_valid()
    with pytest.raises(RefusedError) as refused:
        await second.transfer_to()
    assert refused.value.metadata["obstacle"] == "NO_WAITER"
    await vacant(client, "job")


async def test_a_transfer_is_asked_for_and_confirmed_by_releasing(client: Client) -> None:
    guard = await client.lock("job").acquire()
    following = asyncio.ensure_future(client.lock("job").acquire())
    await waiting(client, "job")
    transfer = asyncio.ensure_future(client.transfer("job", operator="ops", note="move", drain=5))
    request = await soon(guard.transfer_requested())
    assert (request.drain, request.operator, request.note) == (5.0, "ops", "move")
    await guard.release()
    second = await soon(following)
    assert (await soon(transfer)).token == second.token
    await second.release()


async def test_operators_set_limits_list_and_read_history(client: Client) -> None:
    await client.configure_lock("pool", LockSettings(limit=1), operator="ops")
    async with client.lock("pool", permits=1, owner="ann"):
        with pytest.raises(RefusedError) as refused:
            await client.lock("pool", limit=2).try_acquire()
        assert refused.value.reason == "LIMIT_MISMATCH"
        assert [lock.name async for lock in client.list_locks("po")] == ["pool"]
        assert [session.owner async for session in client.list_sessions()] == ["ann"]
        entry = await anext(client.history("pool"))
        assert isinstance(entry, HoldRecord)
        assert (entry.owner, entry.end_reason) == ("ann", None)


async def test_refusals_of_calls_tell_reason_and_facts(client: Client) -> None:
    with pytest.raises(RefusedError) as refused:
        await client.get_session("nobody")
    assert refused.value.reason == "SESSION_NOT_FOUND"
    assert refused.value.metadata == {"session_id": "nobody"}
    with pytest.raises(RefusedError) as refused:
        await client.session(ttl=0.001)
    assert (refused.value.reason, refused.value.metadata["field"]) == ("INVALID_FIELD", "ttl")


async def test_without_a_server_calls_end_at_their_deadline(server: Server) -> None:
    server.kill()
    client = Client(server.endpoint, call_timeout=0.4)
    for call in (client.get_lock("job"), client.lock("job").try_acquire()):
        with pytest.raises(UnavailableError):
            await soon(call)
    # Nothing was asked for that would have to be closed.
    await client.close()


async def test_a_client_that_cannot_close_its_sessions_says_so(server: Server) -> None:
    client = Client(server.endpoint, call_timeout=2)
    session = await client.session()
    server.kill()
    with pytest.raises(UnavailableError):
        await client.close()
    assert not session.is_valid()


async def test_a_closed_client_can_be_asked_nothing(server: Server) -> None:
    client = Client(server.endpoint)
    guard = await client.lock("job").acquire()
    await client.close()
    assert guard.lost_reason is not None
    assert guard.lost_reason.reason == LostReason.CLOSED
    with pytest.raises(ClosedError):
        await client.lock("job").acquire()
    async with Client(server.endpoint) as other:
        await lock_until(other, "job", lambda lock: not lock.holders)
