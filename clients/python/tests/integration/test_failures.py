"""Servers and clients that die, freeze and recover."""

import asyncio
import os
import signal
import socket
import subprocess
import sys

import grpc.aio
import pytest

from tenure import LostError, LostReason, SessionState, v1
from tenure.aio import Client
from tests.integration.server import Server
from tests.integration.waiting import lock_until, met, soon, waiting

HOLDER = """
import sys
from tenure import Client
guard = Client(sys.argv[1]).lock("job", ttl=1, owner="other").acquire()
print(guard.token, flush=True)
guard.lost()
print(guard.lost_reason, flush=True)
"""


def holding(server: Server) -> "subprocess.Popen[str]":
    """Another process that holds a lock."""
    arguments = [sys.executable, "-c", HOLDER, server.endpoint]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


async def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return (await soon(asyncio.to_thread(process.stdout.readline))).strip()


async def test_lock_of_a_process_that_dies_is_granted_to_the_waiter(server: Server, client: Client) -> None:
    with holding(server) as process:
        token = int(await line_of(process))
        following = asyncio.ensure_future(client.lock("job").acquire())
        await waiting(client, "job")
        process.kill()
        guard = await soon(following)
    assert guard.token > token
    await guard.release()


async def test_process_that_was_frozen_reports_the_loss(server: Server, client: Client) -> None:
    with holding(server) as process:
        await line_of(process)
        os.kill(process.pid, signal.SIGSTOP)
        guard = await soon(client.lock("job").acquire())
        os.kill(process.pid, signal.SIGCONT)
        assert await line_of(process) in ("no renewal was acknowledged in time", "expired")
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


async def test_frozen_server_loses_the_session_before_its_lock_could_be_granted(server: Server, client: Client) -> None:
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
    assert lost.value.lost.reason == LostReason.UNRENEWED
    assert await soon(anext(states)) == SessionState.LOST
    await soon(lock_until(client, "job", lambda lock: not lock.holders))


async def test_hung_server_is_skipped(server: Server) -> None:
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


async def test_watch_continues_after_a_restart_and_misses_nothing(server: Server, client: Client) -> None:
    revisions: list[int] = []
    async with client.watch(v1.WatchRequest(names=["job"])) as watch:

        async def read_until_vacant(count: int) -> None:
            async for response in watch:
                revisions.extend(event.revision for event in response.events.events)
                count -= sum(bool(event.vacant_names) for event in response.events.events)
                if count == 0:
                    return

        first = await soon(anext(watch))
        assert [lock.name for lock in first.snapshot.locks] == ["job"]
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


async def test_release_is_repeated_until_a_server_has_confirmed_it(server: Server, client: Client) -> None:
    async with await client.session(ttl=60) as session:
        guard = await session.lock("job").acquire()
        server.kill()
        releasing = asyncio.ensure_future(guard.release())
        server.start()
        await soon(releasing)
        assert not (await client.get_lock("job")).holders


async def test_lost_session_is_withdrawn_at_the_server(server: Server, client: Client) -> None:
    session = await client.session(ttl=60, disconnect_grace=1)
    server.freeze()
    lost = await soon(session.lost())
    server.thaw()
    assert lost.reason == LostReason.UNRENEWED

    async def closed() -> None:
        while [one.id async for one in client.list_sessions()]:
            await asyncio.sleep(0.01)

    await soon(closed())
    assert not session.is_valid()


class Silent:
    """A server that opens streams, and sends nothing on them."""

    def __init__(self) -> None:
        self.streams = 0
        self._server = grpc.aio.server()
        handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(self._connect)
        self._server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("tenure.v1.ClientService", {"Connect": handler})]
        )
        self.endpoint = f"http://127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    async def _connect(self, _: object, context: "grpc.aio.ServicerContext[bytes, bytes]") -> None:
        self.streams += 1
        await context.send_initial_metadata((("silent", "yes"),))
        await asyncio.Event().wait()

    async def __aenter__(self) -> "Silent":
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop(None)


async def test_client_that_was_passed_on_by_silent_servers_keeps_its_session_and_closes(server: Server) -> None:
    async with Silent() as one, Silent() as other:
        client = Client([server.endpoint, one.endpoint, other.endpoint], call_timeout=10)
        session = await soon(client.session(ttl=20))
        server.freeze()
        before = one.streams, other.streams
        try:
            await met(lambda: one.streams > before[0] and other.streams > before[1])
        finally:
            server.thaw()
        await soon(client.close())
        assert session.lost_reason is not None
        assert session.lost_reason.reason is LostReason.CLOSED
