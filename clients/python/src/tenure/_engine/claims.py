"""Claims: acquires from asking, by way of the local queue, to the end of the hold."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tenure import convert
from tenure._engine.pauses import backoff
from tenure._engine.reply import Reply
from tenure._engine.sessions import Live
from tenure._engine.timers import Timer
from tenure._link.backoff import Backoff
from tenure.clock import SECOND
from tenure.errors import Lost, LostError, LostReason
from tenure.model import Busy, Claim, ClaimState, Mode
from tenure.presence import HoldPresence
from tenure.v1 import lock_pb2, session_pb2
from tenure.v1 import stream_pb2 as pb

if TYPE_CHECKING:
    from tenure._engine.engine import Engine
    from tenure.errors import Refusal

log = logging.getLogger("tenure")


@dataclass(frozen=True)
class AcquireSpec:
    """Which locks to ask for, and how."""

    #: In byte order.
    names: tuple[str, ...]
    mode: Mode
    permits: int
    limit: int
    priority: int
    metadata: dict[str, str]
    min_hold: int
    stall_after: int | None


class Stage(Enum):
    """Where a claim stands."""

    #: Waits for its turn among the claims of this session.
    QUEUED = 0
    #: The server is asked.
    ASKING = 1
    #: Granted.
    HELD = 2
    #: The server is asked to take it back.
    RELEASING = 3
    #: Nobody wants it any more, but the server is still asked for it: it was asked to answer that at once.
    STOPPING = 4
    #: Nobody wants it any more: the server is asked to forget it, whether it waits or was granted.
    WITHDRAWING = 5
    #: Nothing is left of it.
    OVER = 6


@dataclass(eq=False)
class Entry:
    """One acquire and what comes of it, from asking to the end of the hold."""

    key: int
    live: Live
    spec: AcquireSpec
    stage: Stage
    reply: Reply[Grant | Busy]
    wait_until: int | None
    give_up: int | None
    backoff: Backoff
    hold: HoldPresence | None = None
    released: Reply[None] | None = None
    command: int | None = None
    refusal: Refusal | None = None
    #: A notice about these locks that may have overtaken the answer that they are granted.
    early: pb.Answer | None = None
    wait_timer: Timer | None = None
    answer_timer: Timer | None = None

    def describe(self) -> Claim:
        """As others of this session see it."""
        held = self.stage in (Stage.HELD, Stage.RELEASING)
        return Claim(
            id=0,
            names=self.spec.names,
            state=ClaimState.HELD if held else ClaimState.WAITING,
            token=self.hold.token if held and self.hold else None,
            session_id=self.live.id,
            owner=self.live.owner,
            metadata=self.spec.metadata,
            priority=self.spec.priority,
            min_hold=self.spec.min_hold / SECOND,
            mode=self.spec.mode,
            permits=self.spec.permits,
            limit=self.spec.limit or None,
        )


@dataclass(frozen=True)
class Grant:
    """What was granted."""

    entry: Entry
    hold: HoldPresence


class Claims:
    """All claims, from this side."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._keys = 0

    def acquire(
        self, live: Live, spec: AcquireSpec, wait: int | None, call: int, reply: Reply[Grant | Busy], now: int
    ) -> Entry | None:
        """Asks for locks: with a wait of zero once, without one for ever. An answer may take the time of a call besides."""
        if not self._engine.sessions.is_open(live):
            reply.fail(LostError(live.presence.lost or Lost(LostReason.FORGOTTEN)))
            return None
        in_way = live.turns.first_in_way(spec.names)
        if wait == 0 and in_way is not None:
            reply.ok(Busy(live.claims[in_way].describe()))
            return None
        self._keys += 1
        wait_until = None if wait is None else now + wait
        give_up = None if wait_until is None else wait_until + call
        entry = Entry(self._keys, live, spec, Stage.QUEUED, reply, wait_until, give_up, backoff())
        if wait_until is not None and wait != 0:
            entry.wait_timer = self._engine.timers.set(wait_until, lambda now: self._wait_over(entry, now))
        if give_up is not None:
            entry.answer_timer = self._engine.timers.set(give_up, lambda now: self._give_up(entry, now))
        live.claims[entry.key] = entry
        live.turns.join(entry.key, spec.names)
        self._take_turn(entry, now)
        return entry

    def release(self, entry: Entry, give_up: int, reply: Reply[None] | None, now: int) -> None:
        """Gives a hold back."""
        if entry.stage != Stage.HELD or entry.hold is None:
            if reply is not None:
                reply.fail(LostError((entry.hold and entry.hold.lost()) or Lost(LostReason.FORGOTTEN)))
            return
        entry.hold.end(Lost(LostReason.RELEASED))
        entry.stage = Stage.RELEASING
        entry.live.holds.pop(entry.hold.token, None)
        entry.live.progress_of_holds.pop(entry.key, None)
        entry.released = reply
        if reply is not None:
            self._engine.timers.clear(entry.answer_timer)
            entry.answer_timer = self._engine.timers.set(give_up, lambda now: self._release_late(entry))
        self.send(entry, now)

    def drop(self, entry: Entry, now: int) -> None:
        """Nobody wants the claim any more, wherever it stands."""
        if entry.stage == Stage.QUEUED:
            self.end(entry, now)
        elif entry.stage == Stage.ASKING:
            self._withdraw(entry, now)
        elif entry.stage == Stage.HELD:
            self.release(entry, now, None, now)

    def send_all(self, live: Live, now: int) -> None:
        """The session was attached: says all that its claims need."""
        for entry in tuple(live.claims.values()):
            self.send(entry, now)

    def send(self, entry: Entry, now: int) -> None:
        """Says what the claim needs, if it needs anything and no answer is under way."""
        live = entry.live
        if not live.is_attached() or entry.command is not None or self._engine.stream is None:
            return
        if entry.stage == Stage.ASKING and (again := live.held_back_until(now)) is not None:
            self._send_at(entry, again)
            return
        command = self._command(entry, now)
        if command is None:
            return

        def answered(answer: pb.Answer, _: int, now: int) -> None:
            # What was said before the session was moved does not count.
            if entry.command == answer.id and entry.stage != Stage.OVER:
                self._answered(entry, answer, now)

        entry.command = self._engine.send(command, answered, now)
        if entry.stage == Stage.STOPPING:
            entry.stage = Stage.WITHDRAWING

    def lose_all(self, live: Live, lost: Lost) -> None:
        """The session is lost."""
        claims = tuple(live.claims.values())
        live.claims.clear()
        live.progress_of_holds.clear()
        live.holds.clear()
        for entry in claims:
            stage, entry.stage = entry.stage, Stage.OVER
            self._engine.timers.clear(entry.wait_timer)
            self._engine.timers.clear(entry.answer_timer)
            if stage in (Stage.QUEUED, Stage.ASKING):
                entry.reply.fail(LostError(lost))
            elif stage == Stage.HELD and entry.hold is not None:
                entry.hold.end(lost)
            elif entry.released is not None:
                entry.released.fail(LostError(lost))

    def end(self, entry: Entry, now: int) -> None:
        """The claim is over: the next ones have their turn."""
        if entry.stage == Stage.HELD and entry.hold is not None:
            entry.live.holds.pop(entry.hold.token, None)
        entry.stage = Stage.OVER
        self._engine.timers.clear(entry.wait_timer)
        self._engine.timers.clear(entry.answer_timer)
        del entry.live.claims[entry.key]
        entry.live.progress_of_holds.pop(entry.key, None)
        for following in entry.live.turns.leave(entry.key, entry.spec.names):
            self._take_turn(entry.live.claims[following], now)

    def _take_turn(self, entry: Entry, now: int) -> None:
        """Asks the server if it is the claim's turn."""
        if entry.live.turns.is_first(entry.key, entry.spec.names):
            if entry.stage == Stage.QUEUED:
                entry.stage = Stage.ASKING
            self.send(entry, now)

    def _send_at(self, entry: Entry, at: int) -> None:
        self._engine.timers.set(at, lambda now: self.send(entry, now))

    def _command(self, entry: Entry, now: int) -> pb.Command | None:
        spec, session_id, namespace = entry.spec, entry.live.id, self._engine.namespace
        if entry.stage == Stage.ASKING:
            acquire = lock_pb2.AcquireRequest(
                namespace=namespace,
                names=spec.names,
                session_id=session_id,
                priority=spec.priority,
                metadata=spec.metadata,
                mode=session_pb2.Mode.Value(f"MODE_{spec.mode.name}"),
                permits=spec.permits,
                limit=spec.limit,
            )
            if entry.wait_until is not None:
                acquire.wait.CopyFrom(convert.to_wire(max(entry.wait_until - now, 0)))
            if spec.min_hold > 0:
                acquire.min_hold.CopyFrom(convert.to_wire(spec.min_hold))
            return pb.Command(acquire=acquire)
        if entry.stage == Stage.RELEASING and entry.hold is not None:
            token = entry.hold.token
            release = lock_pb2.ReleaseRequest(
                namespace=namespace, name=spec.names[0], session_id=session_id, token=token
            )
            return pb.Command(release=release)
        if entry.stage in (Stage.STOPPING, Stage.WITHDRAWING):
            cancel = lock_pb2.CancelAcquireRequest(namespace=namespace, names=spec.names, session_id=session_id)
            return pb.Command(cancel_acquire=cancel)
        return None

    def _withdraw(self, entry: Entry, now: int) -> None:
        """Asks the server to forget a claim that it was asked for."""
        entry.stage = Stage.STOPPING
        # An acquire that is under way has to come to its end first, lest it be granted after it was given up.
        if entry.command is not None:
            self._engine.cancel(entry.command)
        else:
            self.send(entry, now)

    def _wait_over(self, entry: Entry, now: int) -> None:
        if entry.stage == Stage.QUEUED:
            in_way = entry.live.turns.first_in_way(entry.spec.names)
            holder = None if in_way is None else entry.live.claims[in_way].describe()
            self.end(entry, now)
            entry.reply.ok(Busy(holder))

    def _give_up(self, entry: Entry, now: int) -> None:
        if entry.stage == Stage.ASKING:
            self._withdraw(entry, now)
            entry.reply.fail(self._engine.in_vain(entry.refusal))

    def _release_late(self, entry: Entry) -> None:
        # It is tried further, only nobody waits for it.
        if entry.released is not None:
            entry.released.fail(self._engine.in_vain(entry.refusal))
            entry.released = None

    def _answered(self, entry: Entry, answer: pb.Answer, now: int) -> None:
        entry.command = None
        if answer.HasField("acquire"):
            self._engine.grants.acquired(entry, answer.acquire, now)
        elif answer.HasField("release") or answer.HasField("cancel_acquire"):
            released = entry.released
            self.end(entry, now)
            if released is not None:
                released.ok(None)
        elif answer.HasField("refusal"):
            self._engine.grants.refused(entry, convert.refusal(answer.refusal), now)
        else:
            self._engine.misfit(answer)

    def retry(self, entry: Entry, now: int) -> None:
        """Asks again after a pause."""
        self._send_at(entry, now + entry.backoff.next_pause())
