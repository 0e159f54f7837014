"""Memberships, and groups as others see them."""

import asyncio
from typing import Any

from driver import answers
from driver.mistake import Mistake
from driver.options import own_session, plain
from driver.things import Member, Things
from tenure import Assignments, Standing, v1
from tenure import assign as assign_all
from tenure.aio import GroupRequest


def group_request(request: dict[str, Any], things: Things) -> GroupRequest:
    metadata = plain(request, "metadata")
    client = things.clients[request["client"]]
    if "session" in request:
        return client.group(request["group"], session=things.sessions[request["session"]], **metadata)
    return client.group(request["group"], **own_session(request), **metadata)


async def join(request: dict[str, Any], things: Things) -> dict[str, Any]:
    membership = await group_request(request, things).join()
    member = things.members[request["member"]] = Member(membership=membership)

    async def follow() -> None:
        async for standing in membership.standings():
            member.latest = standing
            member.changed.notify()

    member.task = asyncio.ensure_future(follow())
    standing = membership.standing
    return {
        "number": membership.number,
        "session_id": membership.session.id,
        "leads": standing.leads,
        "token": standing.token,
    }


async def standing(request: dict[str, Any], things: Things) -> dict[str, Any]:
    return answers.standing(things.members[request["member"]].standing())


async def await_standing(request: dict[str, Any], things: Things) -> dict[str, Any]:
    member = things.members[request["member"]]

    def is_met() -> bool:
        latest = member.latest
        if latest is None:
            return False
        found = answers.standing(latest) | {"member_count": len(latest.group.members)}
        wanted = plain(request, "leads", "assignment", "current", "member_count")
        return latest.lost is not None or all(found[field] == value for field, value in wanted.items())

    await member.changed.until(is_met)
    return answers.standing(member.latest)


async def assign(request: dict[str, Any], things: Things) -> dict[str, Any]:
    membership = things.members[request["member"]].membership
    if membership is None:
        raise Mistake("a member that takes part assigns by itself")
    group = membership.standing.group
    numbers = [member.number for member in group.members]
    assignments = dict(zip(numbers, request["assignments"], strict=False))
    return {"revision": await membership.assign(group, assignments)}


async def leave(request: dict[str, Any], things: Things) -> None:
    member = things.members[request["member"]]
    if member.membership is not None:
        await member.membership.leave()
    if member.task is not None:
        member.task.cancel()
        await asyncio.wait({member.task})


async def take_part(request: dict[str, Any], things: Things) -> None:
    member = things.members[request["member"]] = Member()

    def on_change(standing: Standing) -> None:
        member.latest = standing
        member.changed.notify()

    def divide(group: v1.Group) -> Assignments:
        return assign_all(group, lambda position, _: str(position + 1))

    member.task = asyncio.ensure_future(group_request(request, things).take_part(divide, on_change))


async def configure_group(request: dict[str, Any], things: Things) -> dict[str, Any]:
    client = things.clients[request["client"]]
    expected = plain(request, "expected_revision")
    revision = await client.configure_group(request["group"], request.get("config"), **expected)
    return {"config_revision": revision}


async def get_group(request: dict[str, Any], things: Things) -> dict[str, Any]:
    return {"group": answers.group(await things.clients[request["client"]].get_group(request["group"]))}


GROUPS = {
    "join": join,
    "standing": standing,
    "await_standing": await_standing,
    "assign": assign,
    "leave": leave,
    "take_part": take_part,
    "configure_group": configure_group,
    "get_group": get_group,
}
