"""Locks against a real server."""

import asyncio

import pytest

from tenure import Busy, ClosedError, LostError, LostReason, RefusedError, UnavailableError, v1
from tenure.aio import Client, Guard, Hold
from tests.integration.server import Server
from tests.integration.waiting import holder, lock_until, soon, vacant, waiting


async def test_lock_is_held_by_one_until_it_is_released(client: Client) -> None:
    guard = await client.lock("job", owner="ann", metadata={"on": "host"}, priority=3).acquire()
    claim = holder(await client.get_lock("job"))
    assert (claim.token, claim.owner, dict(claim.metadata), claim.priority) == (guard.token, "ann", {"on": "host"}, 3)
    busy = await client.lock("job").try_acquire()
    assert isinstance(busy, Busy)
    assert busy.holder is not None
    assert (busy.holder.token, busy.holder.owner) == (guard.token, "ann")
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
    assert not (await client.get_lock("a")).holders
    await one.release()
    async with client.locks(["b", "a"]) as hold:
        assert hold.names == ("a", "b")


async def test_waiter_is_served_when_the_holder_releases(client: Client) -> None:
    guard = await client.lock("job").acquire()
    following = asyncio.ensure_future(client.lock("job").acquire())
    await waiting(client, "job")
    await guard.release()
    second = await soon(following)
    assert second.token > guard.token
    await second.release()


async def test_bounded_wait_ends_as_busy_and_leaves_nothing(client: Client) -> None:
    async with client.lock("job", owner="ann"):
        busy = await soon(client.lock("job").acquire_within(0.2))
        assert isinstance(busy, Busy)
        assert busy.holder is not None
        assert busy.holder.owner == "ann"
        assert not (await client.get_lock("job")).waiters


async def test_cancelled_wait_leaves_nothing(client: Client) -> None:
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
    # The session can request again.
    async with session.lock("job"):
        pass
    await session.close()
    await vacant(client, "job")


async def test_requests_of_one_session_exclude_each_other(client: Client) -> None:
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
            (v1.MODE_PERMITS, 2, 3),
            (v1.MODE_PERMITS, 1, 3),
        ]
    async with client.lock("doc", shared=True), client.lock("doc", shared=True):
        assert not await client.lock("doc").try_acquire()


async def test_body_is_cancelled_on_loss_and_the_scope_raises_the_reason(client: Client) -> None:
    ran_on = False
    with pytest.raises(LostError) as lost:
        async with client.lock("job") as hold:
            await client.evict(v1.EvictRequest(name="job", token=hold.token, operator="ops", note="stuck"))
            await soon(asyncio.get_running_loop().create_future())
            ran_on = True
    assert not ran_on
    ended = v1.EndedState(reason=v1.END_REASON_EVICTED, operator="ops", note="stuck")
    assert (lost.value.lost.reason, lost.value.lost.ended) == (LostReason.ENDED, ended)
    # The cancellation was taken back.
    await asyncio.sleep(0)


async def test_scope_leaves_a_cancellation_by_others_alone(client: Client) -> None:
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


async def test_error_of_the_body_is_raised_and_the_lock_is_released(client: Client) -> None:
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
    assert not isinstance(ran, Busy)
    assert await client.lock("job").run(body) > ran

    @client.locked("job", owner="decorated")
    async def function(number: int) -> tuple[int, str]:
        return number, holder(await client.get_lock("job")).owner

    assert await function(7) == (7, "decorated")


async def test_collected_guard_releases_its_lock(client: Client) -> None:
    guard = await client.lock("job", ttl=60).acquire()
    with pytest.warns(ResourceWarning, match="was not released"):
        del guard
    await vacant(client, "job")


async def test_labels_are_replaced_and_hold_is_handed_over(client: Client) -> None:
    guard = await client.lock("job").acquire()
    await guard.update_metadata({"phase": "end"})
    following = asyncio.ensure_future(client.lock("job", owner="next").acquire())
    lock = await waiting(client, "job")
    assert dict(holder(lock).metadata) == {"phase": "end"}
    token = await guard.transfer_to(lock.waiters[0].session_id)
    second = await soon(following)
    assert second.token == token
    assert not guard.is_valid()
    with pytest.raises(RefusedError) as refused:
        await second.transfer_to()
    assert refused.value.metadata["obstacle"] == "NO_WAITER"
    await vacant(client, "job")


async def test_transfer_is_requested_and_confirmed_by_releasing(client: Client) -> None:
    guard = await client.lock("job").acquire()
    following = asyncio.ensure_future(client.lock("job").acquire())
    await waiting(client, "job")
    transfer = asyncio.ensure_future(client.transfer(v1.TransferRequest(name="job", operator="ops", note="move")))
    request = await soon(guard.transfer_requested())
    pending = request.pending
    assert (pending.drain.ToSeconds(), pending.operator, pending.note) == (10, "ops", "move")
    assert 8 < request.remaining < 9
    await guard.release()
    second = await soon(following)
    assert (await soon(transfer)).token == second.token
    await second.release()


async def test_operators_set_limits_list_and_read_history(client: Client) -> None:
    settings = v1.LockSettings(limit=1)
    await client.configure_lock(v1.ConfigureLockRequest(name="pool", settings=settings, operator="ops"))
    async with client.lock("pool", permits=1, owner="ann"):
        with pytest.raises(RefusedError) as refused:
            await client.lock("pool", limit=2).try_acquire()
        assert refused.value.reason == "LIMIT_MISMATCH"
        assert [lock.name async for lock in client.list_locks("po")] == ["pool"]
        assert [session.owner async for session in client.list_sessions()] == ["ann"]
        entry = await anext(client.history("pool"))
        assert (entry.hold.owner, entry.hold.end_reason) == ("ann", v1.END_REASON_UNSPECIFIED)


async def test_rejections_of_calls_have_reason_and_facts(client: Client) -> None:
    with pytest.raises(RefusedError) as refused:
        await client.get_session("missing")
    assert refused.value.reason == "SESSION_NOT_FOUND"
    assert dict(refused.value.metadata) == {"session_id": "missing"}
    with pytest.raises(RefusedError) as refused:
        await client.session(ttl=0.001)
    assert (refused.value.reason, refused.value.metadata["field"]) == ("INVALID_FIELD", "ttl")


async def test_without_a_server_calls_end_at_their_deadline(server: Server) -> None:
    server.kill()
    client = Client(server.endpoint, call_timeout=0.4)
    for call in (client.get_lock("job"), client.lock("job").try_acquire()):
        with pytest.raises(UnavailableError):
            await soon(call)
    # Nothing was sent that would have to be closed.
    await client.close()


async def test_client_that_cannot_close_its_sessions_raises(server: Server) -> None:
    client = Client(server.endpoint, call_timeout=2)
    session = await client.session()
    server.kill()
    with pytest.raises(UnavailableError):
        await client.close()
    assert not session.is_valid()


async def test_closed_client_accepts_no_requests(server: Server) -> None:
    client = Client(server.endpoint)
    guard = await client.lock("job").acquire()
    await client.close()
    assert guard.lost_reason is not None
    assert guard.lost_reason.reason == LostReason.CLOSED
    with pytest.raises(ClosedError):
        await client.lock("job").acquire()
    async with Client(server.endpoint) as other:
        await lock_until(other, "job", lambda lock: not lock.holders)


async def test_storm_of_cancelled_acquires_leaves_no_session(client: Client) -> None:
    granted = 0

    async def attempt(number: int) -> None:
        nonlocal granted
        task = asyncio.ensure_future(client.lock(f"job-{number % 50}", ttl=60).acquire())
        # Whatever the state of the request is after this time: not sent, sent, opened, waiting or granted.
        asyncio.get_running_loop().call_later(0.004, task.cancel)
        try:
            guard = await task
        except asyncio.CancelledError:
            return
        granted += 1
        await guard.release()

    for _ in range(30):
        await soon(asyncio.gather(*map(attempt, range(100))))
    assert granted < 3000, "some were cancelled"
    await soon(sessions_are(client, 0))


async def test_grant_that_arrives_when_the_caller_is_cancelled_is_withdrawn(client: Client) -> None:
    async with await client.session() as session:
        first = await session.lock("job").acquire()
        task: asyncio.Task[Guard] = asyncio.ensure_future(session.lock("job").acquire())
        await waiting(client, "job")
        (waiter,) = (item for item in client._connection.protocol.items.values() if item.names and not item.token)
        connection, dispatch = client._connection, client._connection.dispatch

        def cancel_at_the_grant() -> None:
            dispatch()
            if waiter.token:
                # The future of the wait has its result, and the task has not resumed.
                task.cancel()

        connection.dispatch = cancel_at_the_grant  # type: ignore[method-assign]
        await first.release()
        with pytest.raises(asyncio.CancelledError):
            await soon(task)
        await vacant(client, "job")


async def sessions_are(client: Client, count: int) -> None:
    while len([session async for session in client.list_sessions()]) != count:
        await asyncio.sleep(0.01)


def test_client_may_be_made_outside_of_an_event_loop(server: Server) -> None:
    client = Client(server.endpoint)

    async def use() -> None:
        async with client, client.lock("job") as hold:
            assert hold.is_valid()

    asyncio.run(use())


def test_client_is_used_in_one_event_loop(server: Server) -> None:
    client = Client(server.endpoint)

    async def read() -> None:
        await client.get_lock("job")

    asyncio.run(read())
    with pytest.raises((ClosedError, RuntimeError)):
        asyncio.run(read())


async def test_release_that_fails_under_a_body_is_only_logged(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    client = Client(server.endpoint, call_timeout=1)
    async with client.lock("job", ttl=60) as hold:
        server.kill()
        assert hold.is_valid()
    assert "the lock was not released cleanly" in caplog.text
    server.start()
    async with Client(server.endpoint, call_timeout=10) as other:
        await vacant(other, "job")
    await client.close()
