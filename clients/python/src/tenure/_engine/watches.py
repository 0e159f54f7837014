"""Watches: resumed after the last revision that their reader was told, on whatever stream there is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tenure import convert
from tenure._engine.pauses import backoff
from tenure._link.backoff import Backoff
from tenure.errors import Refusal, RefusedError, TenureError
from tenure.model import Events, Group, HistoryGone, HistoryGoneCause, Lock, Progressed, Snapshot, WatchItem
from tenure.v1 import stream_pb2 as pb
from tenure.v1 import watch_pb2

if TYPE_CHECKING:
    from tenure._engine.engine import Engine

#: How many items may wait for their reader before the watch is stopped and resumed later.
ITEMS_IN_QUEUE = 64


@dataclass(eq=False)
class Watched:
    """One watch."""

    names: tuple[str, ...]
    prefixes: tuple[str, ...]
    groups: tuple[str, ...]
    #: All up to this revision has been told.
    after: int
    #: Called when there is something for the reader.
    told: Callable[[], None]
    items: deque[WatchItem] = field(default_factory=deque)
    #: It will tell nothing more; and why, if that is an error.
    is_over: bool = False
    error: TenureError | None = None
    #: Stopped because its reader is behind.
    is_paused: bool = False
    command: int | None = None
    backoff: Backoff = field(default_factory=backoff)
    #: The parts of a snapshot that have come so far: of a lock that changed meanwhile, what came last.
    locks: dict[str, Lock] = field(default_factory=dict)
    told_groups: list[Group] = field(default_factory=list)

    def detach(self) -> None:
        self.command = None
        self.locks.clear()
        self.told_groups.clear()

    def end(self, error: TenureError | None = None) -> None:
        self.is_over = True
        self.error = error
        self.told()


class Watches:
    """All watches."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._all: set[Watched] = set()

    def start(self, watched: Watched, now: int) -> None:
        """Begins a watch."""
        self._all.add(watched)
        self._send(watched, now)

    def next(self, watched: Watched, now: int) -> WatchItem | None:
        """The next item, if there is one."""
        item = watched.items.popleft() if watched.items else None
        if watched.is_paused and not watched.items:
            watched.is_paused = False
            self._send(watched, now)
        return item

    def drop(self, watched: Watched) -> None:
        """Nobody reads it any more."""
        self._all.discard(watched)
        self._stop(watched)
        watched.end()

    def send_all(self, now: int) -> None:
        for watched in tuple(self._all):
            self._send(watched, now)

    def detach_all(self) -> None:
        for watched in self._all:
            watched.detach()

    def end_all(self) -> None:
        for watched in tuple(self._all):
            self.drop(watched)

    def _send(self, watched: Watched, now: int) -> None:
        if watched not in self._all or watched.is_paused or watched.command is not None:
            return
        request = watch_pb2.WatchRequest(
            namespace=self._engine.namespace,
            names=watched.names,
            prefixes=watched.prefixes,
            groups=watched.groups,
            after_revision=watched.after,
        )

        def answered(answer: pb.Answer, _: int, now: int) -> None:
            if answer.id != watched.command or watched not in self._all:
                return
            if answer.HasField("watch"):
                self._told(watched, answer.watch)
            elif answer.HasField("refusal"):
                self._refused(watched, convert.refusal(answer.refusal), now)
            else:
                self._engine.misfit(answer)

        watched.command = self._engine.send(pb.Command(watch=request), answered, now, goes_on=True)

    def _stop(self, watched: Watched) -> None:
        """Ends it on the stream. What it still tells is not listened to."""
        if watched.command is not None and self._engine.stream is not None:
            self._engine.stream.sent.pop(watched.command, None)
            self._engine.cancel(watched.command)
        watched.detach()

    def _told(self, watched: Watched, answer: watch_pb2.WatchResponse) -> None:
        watched.backoff.reset()
        item = item_of(watched, answer)
        if item is None:
            return
        if len(watched.items) >= ITEMS_IN_QUEUE:
            # Nothing may pile up here, and the other answers must not wait. What could not be told now is asked for again.
            watched.is_paused = True
            self._stop(watched)
            return
        watched.items.append(item)
        watched.after = 0 if isinstance(item, HistoryGone) else answer.revision
        watched.told()

    def _refused(self, watched: Watched, refusal: Refusal, now: int) -> None:
        watched.detach()
        if self._engine.is_for_now(refusal):
            self._engine.timers.set(now + watched.backoff.next_pause(), lambda now: self._send(watched, now))
        else:
            self._all.discard(watched)
            watched.end(RefusedError(refusal))


def item_of(watched: Watched, answer: watch_pb2.WatchResponse) -> WatchItem | None:
    """What is told. None while more of the same snapshot follows."""
    if answer.HasField("snapshot"):
        part = answer.snapshot
        watched.locks |= {lock.name: convert.lock(lock) for lock in part.locks}
        watched.told_groups += map(convert.group, part.groups)
        if part.more:
            return None
        item = Snapshot(tuple(watched.locks.values()), tuple(watched.told_groups), answer.revision)
        watched.locks.clear()
        watched.told_groups.clear()
        return item
    if answer.HasField("events"):
        told = answer.events
        return Events(
            tuple(each for event in told.events for each in convert.events(event)),
            tuple(map(convert.group_event, told.group_events)),
            tuple(map(convert.group, told.groups)),
            answer.revision,
        )
    if answer.HasField("history_gone"):
        watched.locks.clear()
        watched.told_groups.clear()
        cause = convert.kind_in(answer.history_gone, "cause", "HISTORY_GONE_CAUSE_", HistoryGoneCause)
        return HistoryGone(cause)
    return Progressed(answer.revision)
