"""Elections."""

import asyncio
from typing import Any

from driver import answers
from driver.options import own_session
from driver.things import Leading, Things
from tenure.aio import Hold


async def lead(request: dict[str, Any], things: Things) -> None:
    election = things.clients[request["client"]].election(request["name"], **own_session(request))
    leading = things.elections[request["election"]] = Leading()

    async def body(hold: Hold) -> None:
        leading.resign.clear()
        leading.token = hold.token
        leading.terms += 1
        leading.changed.notify()
        try:
            await leading.resign.wait()
        finally:
            leading.token = None
            leading.changed.notify()

    leading.task = asyncio.ensure_future(election.lead(body))
    leading.task.add_done_callback(lambda _: leading.changed.notify())


async def await_leading(request: dict[str, Any], things: Things) -> dict[str, Any]:
    leading = things.elections[request["election"]]
    task = leading.task
    await leading.changed.until(lambda: leading.token is not None or task is None or task.done())
    if task is not None and task.done():
        task.result()
    return {"token": leading.token, "terms": leading.terms}


async def await_not_leading(request: dict[str, Any], things: Things) -> None:
    leading = things.elections[request["election"]]
    await leading.changed.until(lambda: leading.token is None)


async def resign(request: dict[str, Any], things: Things) -> None:
    things.elections[request["election"]].resign.set()


async def stop(request: dict[str, Any], things: Things) -> None:
    task = things.elections[request["election"]].task
    if task is not None:
        task.cancel()
        await asyncio.wait({task})


async def leader(request: dict[str, Any], things: Things) -> dict[str, Any]:
    return answers.leader(await things.clients[request["client"]].election(request["name"]).leader())


ELECTIONS = {
    "lead": lead,
    "await_leading": await_leading,
    "await_not_leading": await_not_leading,
    "resign": resign,
    "stop": stop,
    "leader": leader,
}
