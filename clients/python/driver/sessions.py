"""Clients and sessions."""

from typing import Any

from driver import answers
from driver.options import SECURITY, given, own_session, plain
from driver.things import Things
from tenure import SessionState
from tenure.aio import Client


async def connect(request: dict[str, Any], things: Things) -> None:
    times = given(request, connect_timeout="connect_timeout_ms", call_timeout="call_timeout_ms")
    things.clients[request["client"]] = Client(**plain(request, "endpoints", "namespace", *SECURITY), **times)


async def close(request: dict[str, Any], things: Things) -> None:
    await things.clients[request["client"]].close()


async def session(request: dict[str, Any], things: Things) -> dict[str, Any]:
    options = own_session(request) | plain(request, "metadata") | given(request, stall_after="stall_after_ms")
    opened = await things.clients[request["client"]].session(**options)
    things.sessions[request["session"]] = opened
    grace = opened.disconnect_grace
    return {
        "session_id": opened.id,
        "ttl_ms": round(opened.ttl * 1000),
        "disconnect_grace_ms": None if grace is None else round(grace * 1000),
    }


async def session_state(request: dict[str, Any], things: Things) -> dict[str, Any]:
    return answers.session(things.sessions[request["session"]])


async def await_state(request: dict[str, Any], things: Things) -> dict[str, Any]:
    waited_for = things.sessions[request["session"]]
    wanted = {SessionState(request["state"]), SessionState.LOST}
    async for state in waited_for.states():
        if state in wanted:
            break
    return answers.session(waited_for)


async def close_session(request: dict[str, Any], things: Things) -> None:
    await things.sessions[request["session"]].close()


SESSIONS = {
    "connect": connect,
    "close": close,
    "session": session,
    "session_state": session_state,
    "await_state": await_state,
    "close_session": close_session,
}
