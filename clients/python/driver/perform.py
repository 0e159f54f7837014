"""From requests to what does them."""

from collections.abc import Awaitable, Callable
from typing import Any

from driver import answers
from driver.elections import ELECTIONS
from driver.groups import GROUPS
from driver.locks import LOCKS
from driver.measure import MEASUREMENTS
from driver.sessions import SESSIONS
from driver.things import Things
from tenure import ClosedError, v1

Request = dict[str, Any]
Answer = dict[str, Any] | None
Deed = Callable[[Request, Things], Awaitable[Answer]]


async def hello(_: Request, __: Things) -> Answer:
    return {"client": "python", "does": list(DEEDS)}


async def cancel(request: Request, things: Things) -> Answer:
    if (task := things.running.get(request["request"])) is not None:
        task.cancel()
    return None


async def watch(request: Request, things: Things) -> Answer:
    wanted = {key: request[key] for key in ("names", "prefixes", "groups", "after_revision") if key in request}
    things.watches[request["watch"]] = things.clients[request["client"]].watch(v1.WatchRequest(**wanted))
    return None


async def observe(request: Request, things: Things) -> Answer:
    things.observed[request["watch"]] = things.clients[request["client"]].election(request["name"]).observe()
    return None


async def next_item(request: Request, things: Things) -> Answer:
    name = request["watch"]
    try:
        if name in things.observed:
            return answers.leader(await anext(things.observed[name]))
        return answers.item(await anext(things.watches[name]))
    except StopAsyncIteration:
        raise ClosedError from None


async def unwatch(request: Request, things: Things) -> Answer:
    name = request["watch"]
    if name in things.observed:
        await things.observed.pop(name).aclose()
    else:
        things.watches.pop(name).close()
    return None


async def get_lock(request: Request, things: Things) -> Answer:
    return answers.lock(await things.clients[request["client"]].get_lock(request["name"]))


async def evict(request: Request, things: Things) -> Answer:
    wanted = {key: request[key] for key in ("name", "operator", "note", "token") if key in request}
    await things.clients[request["client"]].evict(v1.EvictRequest(**wanted))
    return None


async def transfer(request: Request, things: Things) -> Answer:
    wanted = v1.TransferRequest(**{key: request[key] for key in ("name", "operator", "note") if key in request})
    wanted.to_session_id = request.get("to", "")
    if "drain_ms" in request:
        wanted.drain.FromMilliseconds(request["drain_ms"])
    claim = await things.clients[request["client"]].transfer(wanted)
    return {"token": claim.token}


async def configure_lock(request: Request, things: Things) -> Answer:
    settings, preempt = v1.LockSettings(limit=request.get("limit") or 0), request.get("preempt")
    if preempt is not None:
        settings.preempt.settling.FromMilliseconds(preempt["settling_ms"])
        settings.preempt.drain.FromMilliseconds(preempt["drain_ms"])
    wanted = v1.ConfigureLockRequest(name=request["name"], settings=settings, operator=request["operator"])
    await things.clients[request["client"]].configure_lock(wanted)
    return None


DEEDS: dict[str, Deed] = {
    "hello": hello,
    "cancel": cancel,
    **SESSIONS,
    **LOCKS,
    **ELECTIONS,
    "observe": observe,
    "watch": watch,
    "next": next_item,
    "unwatch": unwatch,
    **GROUPS,
    "get_lock": get_lock,
    "evict": evict,
    "transfer": transfer,
    "configure_lock": configure_lock,
    **MEASUREMENTS,
}
