"""Servers and clients that die, freeze and come back."""

import asyncio
import os
import signal
import socket
import subprocess
import sys

import pytest

from tenure import LostError, LostReason, SessionState, Snapshot, WatchItem
from tenure.aio import Client
from tests.integration.server import Server
from tests.integration.waiting import lock_until, soon, waiting

HOLDER = """
import sys
from tenure import Client
guard = Client(sys.argv[1]).lock("job", ttl=1, owner="other").acquire()
print(guard.token, flush=True)
guard.lost()
print(guard.lost_reason, flush=True)
"""


def holder(server: Server) -> "subprocess.Popen[str]":
    """Another process that holds a lock."""
    arguments = [sys.executable, "-c", HOLDER, server.endpoint]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


async def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return (await soon(asyncio.to_thread(process.stdout.readline))).strip()


async def test_the_lock_of_a_process_that_dies_goes_to_who_waits(server: Server, client: Client) -> None:
    with holder(server) as process:
        token = int(await line_of(process))
        following = asyncio.ensure_future(client.lock("job").acquire())
        await waiting(client, "job")
        process.kill()
        guard = await soon(following)
    assert guard.token > token
    await guard.release()


async def test_a_process_that_was_frozen_says_that_it_lost_the_lock(server: Server, client: Client) -> None:
    with holder(server) as process:
        await line_of(process)
        os.kill(process.pid, signal.SIGSTOP)
        guard = await soon(client.lock("job").acquire())
        os.kill(process.pid, signal.SIGCONT)
        assert await line_of(process) in ("no renewal was answered in time", "expired")
    assert guard.is_valid()
    await guard.release()


async def test_holds_tokens_and_places_in_queues_survive_the_server(server: Server, client: Client) -> None:
    guard = await client.lock("job", ttl=15).acquire()
    following = asyncio.ensure_future(client.lock("job", ttl=15, owner="next").acquire())
    await waiting(client, "job")
    server.kill()
    server.start()
    lock = await waiting(client, "job")
    assert [claim.token for claim in lock.holders] == [guard.token]
    assert guard.is_valid()
    await soon(guard.release())
    second = await soon(following)
    assert second.token > guard.token
    await second.release()


async def test_a_frozen_server_costs_the_session_before_it_could_be_given_away(server: Server, client: Client) -> None:
    session = await client.session(ttl=3)
    states = session.states()
    assert await anext(states) == SessionState.HEALTHY
    with pytest.raises(LostError) as lost:
        async with session.lock("job"):
            server.freeze()
            assert await soon(anext(states)) == SessionState.AT_RISK
            assert session.is_valid()
            await soon(asyncio.get_running_loop().create_future())
    server.thaw()
    assert lost.value.lost.reason == LostReason.EXPIRED
    assert await soon(anext(states)) == SessionState.LOST
    await soon(lock_until(client, "job", lambda lock: not lock.holders))


async def test_a_server_that_hangs_is_passed_over(server: Server) -> None:
    # It accepts connections, as a frozen server does, and says nothing.
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        endpoints = [f"127.0.0.1:{hanging.getsockname()[1]}", server.endpoint]
        async with Client(endpoints) as client:
            guard = await soon(client.lock("job").acquire())
            await guard.release()


async def test_without_ticks_a_hold_is_lost_as_stalled(client: Client) -> None:
    guard = await client.lock("job", ttl=2, stall_after=0.5).acquire()
    lost = await soon(guard.lost())
    assert lost.reason == LostReason.STALLED


async def test_a_watch_goes_on_after_a_restart_and_misses_nothing(server: Server, client: Client) -> None:
    revisions: list[int] = []
    async with client.watch(names=["job"]) as watch:

        async def read_until_vacant(count: int) -> None:
            async for item in watch:
                revisions.extend(event.revision for event in getattr(item, "events", ()))
                count -= sum(event.vacant for event in getattr(item, "events", ()))
                if count == 0:
                    return

        first: WatchItem = await soon(anext(watch))
        assert isinstance(first, Snapshot)
        assert [lock.name for lock in first.locks] == ["job"]
        async with await client.session(ttl=20) as session:
            for _ in range(3):
                await (await session.lock("job").acquire()).release()
            await soon(read_until_vacant(3))
            server.kill()
            server.start()
            for _ in range(3):
                await (await soon(session.lock("job").acquire())).release()
            await soon(read_until_vacant(3))
    assert len(revisions) == len(set(revisions)) == 12
    assert revisions == sorted(revisions)
