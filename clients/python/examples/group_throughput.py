"""Copies of a program that share a total throughput: each prints what it may use, whenever that changes.

`python examples/group_throughput.py NAME`, several times, with a server of `TENURE_ENDPOINTS` (default: this machine's
port 7420); `tenure group set throughput 1000` sets the total. Start and kill copies, set another total, and see the
shares. With `exact` after the name, the shares make the total exactly: the first members get what the division leaves
over.
"""

import asyncio
import os
import signal
import sys

from tenure import Assignments, Standing, assign, v1
from tenure.aio import Client


def total(group: v1.Group) -> int:
    """The total, which is the group's config: 0 while there is none."""
    return int(group.config) if group.config.isdecimal() else 0


def evenly(group: v1.Group) -> Assignments:
    """The same for all: what the division leaves over is not used."""
    share = total(group) // max(len(group.members), 1)
    return assign(group, lambda _, __: str(share))


def exactly(group: v1.Group) -> Assignments:
    """All of it: the members that joined first get one more each, as far as that goes."""
    share, rest = divmod(total(group), max(len(group.members), 1))
    return assign(group, lambda position, _: str(share + (position < rest)))


class Report:
    """Prints the standing of this copy, whenever that changes."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, standing: Standing) -> None:
        group = standing.group
        if standing.lost is not None:
            # The others no longer know of this copy's use: it stops until it is a member again.
            report = f"lost reason={standing.lost}"
        elif standing.is_current and standing.assignment is not None:
            role = "leader" if standing.leads else "member"
            report = f"share={standing.assignment} of={total(group)} members={len(group.members)} {role}"
        else:
            return
        if report != self._last:
            print(report, flush=True)
            self._last = report


async def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else f"copy-{os.getpid()}"
    divide = exactly if sys.argv[2:3] == ["exact"] else evenly
    async with Client.from_env() as client:
        group = client.group("throughput", ttl=1.2, owner=name)
        taking_part = asyncio.ensure_future(group.take_part(divide, Report()))
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, taking_part.cancel)
        try:
            await taking_part
        except asyncio.CancelledError:
            print("stopping", flush=True)


asyncio.run(main())
