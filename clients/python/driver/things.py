"""What the driver has made, by the names that requests gave it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from tenure import Standing, v1
from tenure.aio import Client, Guard, Hold, Membership, Session, Watch


class Changed:
    """Something that changes, and its waiters."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def until(self, is_met: Callable[[], bool]) -> None:
        while not is_met():
            await self._changed.wait()


@dataclass
class Held:
    """What is held, or was."""

    hold: Hold
    guard: Guard | None


@dataclass
class Run:
    """A body under a lock."""

    changed: Changed = field(default_factory=Changed)
    token: int | None = None
    finish: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Leading:
    """A candidate that leads whenever it can."""

    changed: Changed = field(default_factory=Changed)
    token: int | None = None
    terms: int = 0
    resign: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[object] | None" = None


@dataclass
class Member:
    """A member: one that joined once, or one that takes part permanently."""

    changed: Changed = field(default_factory=Changed)
    membership: Membership | None = None
    latest: Standing | None = None
    task: "asyncio.Task[object] | None" = None

    def standing(self) -> Standing | None:
        return self.membership.standing if self.membership is not None else self.latest


@dataclass
class Things:
    """All of them."""

    clients: dict[str, Client] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    holds: dict[str, Held] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    elections: dict[str, Leading] = field(default_factory=dict)
    watches: dict[str, Watch] = field(default_factory=dict)
    #: The leader, as it changes.
    observed: dict[str, AsyncGenerator[v1.Claim | None, None]] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    running: "dict[int, asyncio.Task[None]]" = field(default_factory=dict)
