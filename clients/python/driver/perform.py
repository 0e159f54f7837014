"""From requests to what does them."""

from collections.abc import Awaitable, Callable
from typing import Any

from driver import answers
from driver.elections import ELECTIONS
from driver.groups import GROUPS
from driver.locks import LOCKS
from driver.options import given
from driver.sessions import SESSIONS
from driver.things import Things
from tenure import ClosedError, LockSettings, Preempt

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
    things.watches[request["watch"]] = things.clients[request["client"]].watch(**wanted)
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
    wanted = {key: request[key] for key in ("operator", "note", "token") if key in request}
    await things.clients[request["client"]].evict(request["name"], **wanted)
    return None


async def transfer(request: Request, things: Things) -> Answer:
    wanted = {key: request[key] for key in ("operator", "note", "to") if key in request}
    client = things.clients[request["client"]]
    claim = await client.transfer(request["name"], **wanted, **given(request, drain="drain_ms"))
    return {"token": claim.token}


async def configure_lock(request: Request, things: Things) -> Answer:
    preempt = None
    if request.get("preempt") is not None:
        preempt = Preempt(**given(request["preempt"], settling="settling_ms", drain="drain_ms"))
    settings = LockSettings(request.get("limit"), preempt)
    client = things.clients[request["client"]]
    await client.configure_lock(request["name"], settings, operator=request["operator"])
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
}
