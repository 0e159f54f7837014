"""Locks: by guards and by bodies."""

from typing import Any

from driver import answers
from driver.mistake import Mistake
from driver.options import given, own_session, plain
from driver.things import Held, Run, Things
from tenure import Busy
from tenure.aio import Guard, Hold, LockRequest


def lock_request(request: dict[str, Any], things: Things) -> LockRequest:
    options = plain(request, "permits", "limit", "priority", "metadata")
    options |= given(request, min_hold="min_hold_ms", stall_after="stall_after_ms")
    mode = request.get("mode", "exclusive")
    if mode == "shared":
        options["shared"] = True
    elif mode != "exclusive":
        raise Mistake(f"there is no mode {mode}")
    if "session" in request:
        return things.sessions[request["session"]].locks(request["names"], **options)
    return things.clients[request["client"]].locks(request["names"], **own_session(request), **options)


async def acquire(request: dict[str, Any], things: Things) -> dict[str, Any]:
    asked = lock_request(request, things)
    wait = request.get("wait_ms")
    guard: Guard | Busy
    if wait is None:
        guard = await asked.acquire()
    elif wait == 0:
        guard = await asked.try_acquire()
    else:
        guard = await asked.acquire_within(wait / 1000)
    if isinstance(guard, Busy):
        return answers.busy(guard)
    things.holds[request["guard"]] = Held(guard.hold, guard)
    return {"acquired": True, "token": guard.token, "names": list(guard.names), "session_id": guard.session.id}


def guard_of(request: dict[str, Any], things: Things, *, take: bool = False) -> Guard:
    held = things.holds[request["guard"]]
    guard = held.guard
    if guard is None:
        raise Mistake("the guard is used up")
    if take:
        held.guard = None
    return guard


async def hold(request: dict[str, Any], things: Things) -> dict[str, Any]:
    return answers.hold(things.holds[request["guard"]].hold)


async def await_lost(request: dict[str, Any], things: Things) -> dict[str, Any]:
    return {"lost": answers.lost(await things.holds[request["guard"]].hold.lost())}


async def tick(request: dict[str, Any], things: Things) -> None:
    things.holds[request["guard"]].hold.tick()


async def release(request: dict[str, Any], things: Things) -> None:
    await guard_of(request, things, take=True).release()


async def drop(request: dict[str, Any], things: Things) -> None:
    # That was the only reference: it is garbage from here on.
    guard_of(request, things, take=True)


async def update(request: dict[str, Any], things: Things) -> None:
    await guard_of(request, things).update_metadata(request["metadata"])


async def transfer_to(request: dict[str, Any], things: Things) -> dict[str, Any]:
    return {"token": await guard_of(request, things, take=True).transfer_to(request.get("session_id"))}


async def await_transfer(request: dict[str, Any], things: Things) -> dict[str, Any]:
    pending = (await things.holds[request["guard"]].hold.transfer_requested()).pending
    drain_ms = pending.drain.ToMilliseconds()
    return {"drain_ms": drain_ms, "operator": pending.operator or None, "note": pending.note or None}


async def run(request: dict[str, Any], things: Things) -> dict[str, Any]:
    running = things.runs[request["run"]] = Run()
    asked = lock_request(request, things)

    async def body(held: Hold) -> int:
        running.token = held.token
        running.changed.notify()
        await running.finish.wait()
        return held.token

    wait = request.get("wait_ms")
    if wait is None:
        return {"ran": True, "cancelled": False, "token": await asked.run(body)}
    if wait != 0:
        raise Mistake("a body runs at once, or whenever it is its turn")
    ran = await asked.try_run(body)
    if isinstance(ran, Busy):
        return answers.busy(ran) | {"ran": False}
    return {"ran": True, "cancelled": False, "token": ran}


async def await_body(request: dict[str, Any], things: Things) -> dict[str, Any]:
    running = things.runs[request["run"]]
    await running.changed.until(lambda: running.token is not None)
    return {"token": running.token}


async def finish(request: dict[str, Any], things: Things) -> None:
    things.runs[request["run"]].finish.set()


LOCKS = {
    "acquire": acquire,
    "hold": hold,
    "await_lost": await_lost,
    "tick": tick,
    "release": release,
    "drop": drop,
    "update": update,
    "transfer_to": transfer_to,
    "await_transfer": await_transfer,
    "run": run,
    "await_body": await_body,
    "finish": finish,
}
