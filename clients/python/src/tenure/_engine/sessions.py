"""Open sessions: attached to the stream, renewed, lost."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from tenure import convert
from tenure._engine.pauses import backoff
from tenure._engine.reply import Reply
from tenure._engine.turns import Turns
from tenure._link.backoff import Backoff
from tenure.clock import MILLISECOND, NEVER
from tenure.errors import Lost, LostReason, Refusal
from tenure.presence import SessionPresence, SessionState
from tenure.v1 import session_pb2
from tenure.v1 import stream_pb2 as pb
from tenure.validity import renewal_period, silence_limit

if TYPE_CHECKING:
    from tenure._engine.claims import Entry
    from tenure._engine.engine import Engine
    from tenure.progress import Progress

log = logging.getLogger("tenure")

#: The most sessions that one keep-alive renews: the contract's bound.
SESSIONS_PER_KEEP_ALIVE = 1000
#: Sessions whose renewal is due within this part of their period are renewed together with those that are due now.
GATHER_DIVISOR = 4
#: A server that cannot attach a session for now is left after so many tries, if it serves no other session.
ATTACH_TRIES = 3
#: How often in the time between two renewals it is looked whether there is progress again ...
LOOKS_PER_PERIOD = 8
#: ... and no oftener than this.
SHORTEST_LOOK = 5 * MILLISECOND


#: How many locks are named at most where a session is described.
MOST_NAMES = 10


class Stage(Enum):
    """How a session is with the stream."""

    #: Not attached, and no answer to come that would.
    DETACHED = 0
    #: Asked to be attached.
    ATTACHING = 1
    #: Its answers count.
    ATTACHED = 2


@dataclass(eq=False)
class Live:
    """An open session."""

    id: str
    owner: str
    presence: SessionPresence
    #: How often it was asked to be attached, its opening included.
    attachment: int
    #: When the last renewal was sent.
    renewed: int
    #: When it was attached last.
    attached: int
    opened: int
    backoff: Backoff
    stage: Stage = Stage.ATTACHED
    refusals: int = 0
    #: When its phase is looked at next: the one timer for that which counts.
    look: int = NEVER
    claims: dict[int, Entry] = field(default_factory=dict)
    #: The progress of the holds that are renewed only while there is some, by the keys of their claims. Kept apart from the
    #: claims, because it is looked at for each acquire.
    progress_of_holds: dict[int, Progress] = field(default_factory=dict)
    #: The claims that are held, by their tokens.
    holds: dict[int, Entry] = field(default_factory=dict)
    turns: Turns = field(default_factory=Turns)

    def is_attached(self) -> bool:
        return self.stage == Stage.ATTACHED

    def describe(self) -> str:
        """Its id and the locks that it holds, for people."""
        holds = (entry.hold for entry in self.claims.values() if entry.hold is not None)
        names = sorted(name for hold in holds if hold.is_valid() for name in hold.names)
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        return f"session {self.id}" + (f" (holding {', '.join(names[:MOST_NAMES])}{more})" if names else "")

    def detach(self) -> None:
        self.stage = Stage.DETACHED
        for claim in self.claims.values():
            claim.command = None

    def is_due(self, now: int, quarters: int) -> bool:
        """Whether its renewal is due, or will be within so many quarters of its period."""
        period = renewal_period(self.presence.window)
        return self.is_attached() and self.renewed + period <= now + period // GATHER_DIVISOR * quarters

    def is_held_back(self, now: int) -> bool:
        """Whether nothing may be said that renews it, for want of progress."""
        progress = self.presence.progress
        stalled = progress is not None and progress.is_stalled(self.opened, now)
        stalled = stalled or any(of_hold.is_stalled(0, now) for of_hold in self.progress_of_holds.values())
        if stalled != self.presence.stalled:
            log.warning("session %s: %s progress", self.id, "there is no" if stalled else "there is again")
        self.presence.stalled = stalled
        return stalled

    def held_back_until(self, now: int) -> int | None:
        """If nothing may be said that renews it: when to look again."""
        pause = max(renewal_period(self.presence.window) // LOOKS_PER_PERIOD, SHORTEST_LOOK)
        return now + pause if self.is_held_back(now) else None


class Sessions:
    """All open sessions."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._all: dict[str, Live] = {}

    def __bool__(self) -> bool:
        return bool(self._all)

    def get(self, session_id: str) -> Live | None:
        return self._all.get(session_id)

    def is_open(self, live: Live) -> bool:
        """Whether it is not lost; another one may have its id now."""
        return self._all.get(live.id) is live

    def left_open(self) -> list[str]:
        """The sessions that are open, each with the locks that it holds, for people."""
        return [live.describe() for live in self._all.values()]

    def ids(self) -> tuple[str, ...]:
        """The ids of the sessions that are open."""
        return tuple(self._all)

    def is_any_attached(self) -> bool:
        return any(live.is_attached() for live in self._all.values())

    def are_all_attached(self) -> bool:
        return all(live.is_attached() for live in self._all.values())

    def shortest_window(self) -> int | None:
        """The shortest time for which a renewal of a session is good, if there is one."""
        return min((live.presence.window for live in self._all.values()), default=None)

    def begin(
        self, session_id: str, owner: str, presence: SessionPresence, attachment: int, sent: int, now: int
    ) -> Live:
        """A session was opened on the stream that there is."""
        live = Live(session_id, owner, presence, attachment, sent, now, now, backoff())
        self._all[session_id] = live
        self._renew_at(live, sent + renewal_period(presence.window))
        self._look_at_change(live, now)
        return live

    def send_all(self, now: int) -> None:
        for live in tuple(self._all.values()):
            self._attach(live, now)

    def detach_all(self) -> None:
        for live in self._all.values():
            live.detach()

    def close(self, live: Live, now: int, reply: Reply[None] | None = None) -> None:
        """Closes a session."""
        if not self.is_open(live):
            if reply is not None:
                self._engine.closings.join(live.id, reply)
            return
        self._lose(live, Lost(LostReason.CLOSED), now)
        self._engine.closings.begin(live.id, now + live.presence.validity.ttl, reply, now)

    def close_all(self, now: int) -> None:
        for live in tuple(self._all.values()):
            self.close(live, now)

    def moved(self, session_id: str, now: int) -> None:
        """The stream's answers do not count for the session any more: it has to be attached again."""
        live = self._all.get(session_id)
        if live is None or not live.is_attached():
            return
        live.detach()
        # At once, unless somebody else attaches it in turn: then not faster than it is renewed.
        period = renewal_period(live.presence.window)
        again = now if now - live.attached > period else now + min(live.backoff.next_pause(), period)
        self._attach_at(live, again)

    def ended(self, session_id: str, lost: Lost, now: int) -> None:
        """The server says that the session has ended."""
        if (live := self._all.get(session_id)) is not None:
            log.warning("session %s has ended: %s", session_id, lost)
            self._lose(live, lost, now)
        else:
            self._engine.closings.closed(session_id, now)

    def ended_by_refusal(self, session_id: str, refusal: Refusal, now: int) -> bool:
        """Whether a refusal says that the session is over; then it is."""
        if refusal.reason not in ("SESSION_ENDED", "SESSION_NOT_FOUND", "SESSION_IN_USE"):
            return False
        is_told = refusal.reason == "SESSION_ENDED" and refusal.end_reason is not None
        if is_told:
            lost = Lost(LostReason.ENDED, refusal.end_reason)
        else:
            # A session of this id that is another program's is not the one that this program had.
            lost = Lost(LostReason.IN_USE if refusal.reason == "SESSION_IN_USE" else LostReason.FORGOTTEN)
        self.ended(session_id, lost, now)
        return True

    def _attach_at(self, live: Live, at: int) -> None:
        self._engine.timers.set(at, lambda now: self._attach(live, now))

    def _attach(self, live: Live, now: int) -> None:
        if not self.is_open(live) or live.stage != Stage.DETACHED or self._engine.stream is None:
            return
        if (again := live.held_back_until(now)) is not None:
            self._attach_at(live, again)
            return
        live.attachment += 1
        request = pb.AttachSession(
            namespace=self._engine.namespace,
            session_id=live.id,
            attachment=live.attachment,
            client_id=self._engine.client_id,
        )

        def answered(answer: pb.Answer, sent: int, now: int) -> None:
            if not self.is_open(live):
                return
            if answer.HasField("attached_session"):
                self._attached(live, answer.attached_session, sent, now)
            elif answer.HasField("refusal"):
                self._attach_refused(live, convert.refusal(answer.refusal), now)
            else:
                self._engine.misfit(answer)

        command = self._engine.send(pb.Command(attach_session=request), answered, now)
        if command is not None:
            self._engine.expect_answer(command, renewal_period(live.presence.window), now)
            live.stage = Stage.ATTACHING

    def _attached(self, live: Live, answer: pb.AttachedSession, sent: int, now: int) -> None:
        told = answer.session
        ttl = convert.from_wire(told.ttl) if told.HasField("ttl") else live.presence.validity.ttl
        grace = convert.from_wire(told.disconnect_grace) if told.HasField("disconnect_grace") else None
        live.presence.attached(ttl, grace, sent, now)
        live.stage = Stage.ATTACHED
        live.renewed = sent
        live.attached = now
        live.refusals = 0
        live.backoff.reset()
        self._renew_at(live, sent + renewal_period(live.presence.window))
        if live.presence.check(now) == SessionState.LOST:
            self._check_phase(live, now)
            return
        # A grace that is new may end it earlier.
        self._look_at_change(live, now)
        claims = convert.claims(told.claims)
        self._engine.grants.compare(live, claims, answer.revision, now)
        self._engine.claims.send_all(live, now)

    def _attach_refused(self, live: Live, refusal: Refusal, now: int) -> None:
        if self.ended_by_refusal(live.id, refusal, now):
            return
        self._engine.is_for_now(refusal)
        live.stage = Stage.DETACHED
        live.attachment = max(live.attachment, refusal.counted or 0)
        live.refusals += 1
        # Whatever the reason: only the session's own deadline ends the trying.
        self._attach_at(live, now + live.backoff.next_pause())
        if live.refusals % ATTACH_TRIES == 0:
            self._engine.leave_if_idle()

    def _renew_at(self, live: Live, at: int) -> None:
        self._engine.timers.set(at, lambda now: self._renew_if_due(live, now))

    def _renew_if_due(self, live: Live, now: int) -> None:
        if not self.is_open(live) or not live.is_due(now, 0):
            return
        if (again := live.held_back_until(now)) is not None:
            self._renew_at(live, again)
            return
        due = [other for other in self._all.values() if other.is_due(now, 1) and not other.is_held_back(now)]
        for start in range(0, len(due), SESSIONS_PER_KEEP_ALIVE):
            self._keep_alive(due[start : start + SESSIONS_PER_KEEP_ALIVE], now)

    def _keep_alive(self, sessions: Iterable[Live], now: int) -> None:
        limit = NEVER
        request = session_pb2.KeepAliveRequest(namespace=self._engine.namespace)
        for live in sessions:
            window = live.presence.window
            live.renewed = now
            self._renew_at(live, now + renewal_period(window))
            limit = min(limit, silence_limit(window))
            request.session_ids.append(live.id)
        command = self._engine.send(pb.Command(keep_alive=request), self._kept, now)
        if command is not None:
            self._engine.expect_answer(command, limit, now)

    def _kept(self, answer: pb.Answer, sent: int, now: int) -> None:
        if answer.HasField("refusal"):
            self._not_kept(convert.refusal(answer.refusal))
        elif not answer.HasField("keep_alive"):
            self._engine.misfit(answer)
        for kept in answer.keep_alive.sessions:
            live = self._all.get(kept.session_id)
            if kept.HasField("refusal") or not kept.HasField("ttl"):
                refusal = convert.refusal(kept.refusal)
                if self.ended_by_refusal(kept.session_id, refusal, now):
                    continue
                if refusal.reason == "NOT_ATTACHED":
                    self.moved(kept.session_id, now)
                else:
                    self._not_kept(refusal)
            # Not attached, or anew since this was sent: another answer counts.
            elif live is not None and live.is_attached():
                before = live.presence.window
                live.presence.renewed(convert.from_wire(kept.ttl), sent, now)
                if live.presence.window < before:
                    # Less than was reckoned with: so the next renewal is due earlier.
                    self._renew_at(live, sent + renewal_period(live.presence.window))

    def _not_kept(self, refusal: Refusal) -> None:
        if not self._engine.is_for_now(refusal):
            log.warning("sessions were not renewed: %s", refusal)

    def _look_at_change(self, live: Live, now: int) -> None:
        """Looks at the session's phase when it changes next, unless it is looked at before."""
        change = live.presence.validity.next_change(now)
        if change is not None and change < live.look:
            live.look = change
            self._engine.timers.set(change, lambda now: self._phase_due(live, now))

    def _phase_due(self, live: Live, now: int) -> None:
        if self.is_open(live) and live.look <= now:
            live.look = NEVER
            self._check_phase(live, now)
            self._look_at_change(live, now)

    def _check_phase(self, live: Live, now: int) -> None:
        state = live.presence.check(now)
        lost = live.presence.lost
        if state == SessionState.LOST and lost is not None:
            log.warning("session %s is lost: %s", live.id, lost)
            self._lose(live, lost, now)
            # The server may not have given anything away yet: so that others need not wait for that.
            self._engine.closings.begin(live.id, now + live.presence.validity.ttl, None, now)
        elif state == SessionState.AT_RISK:
            log.warning("session %s is at risk", live.id)

    def _lose(self, live: Live, lost: Lost, now: int) -> None:
        """Ends a session on this side, and all that it holds and waits for."""
        del self._all[live.id]
        live.presence.end(lost)
        self._engine.claims.lose_all(live, lost)
        # Somebody may have asked for a new session of this id meanwhile.
        self._engine.openings.send(live.id, now)
