"""Sessions that are being opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tenure import convert
from tenure._engine.pauses import backoff
from tenure._engine.reply import Reply
from tenure._engine.sessions import Live
from tenure._link.backoff import Backoff
from tenure.clock import MILLISECOND
from tenure.errors import ClosedError, InvalidError, LostError, RefusedError, TenureError
from tenure.presence import SessionPresence, SessionState
from tenure.progress import Progress
from tenure.v1 import session_pb2
from tenure.v1 import stream_pb2 as pb

if TYPE_CHECKING:
    from tenure._engine.engine import Engine
    from tenure.errors import Refusal

#: A server that takes so long to open a session is left, if it serves no other session.
PATIENCE = 1500 * MILLISECOND
#: As is one that refuses for now so many times.
TRIES = 3


@dataclass
class SessionSpec:
    """Which session to open."""

    id: str
    ttl: int
    disconnect_grace: int | None = None
    owner: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    progress: Progress | None = None


@dataclass(eq=False)
class Opening:
    """A session that is being opened."""

    spec: SessionSpec
    give_up: int
    reply: Reply[Live]
    backoff: Backoff
    command: int | None = None
    #: How often the session was asked to be attached.
    attachment: int = 0
    refusals: int = 0
    refusal: Refusal | None = None


class Openings:
    """All sessions that are being opened."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._all: dict[str, Opening] = {}

    def open(self, spec: SessionSpec, give_up: int, reply: Reply[Live], now: int) -> None:
        """Opens a session."""
        if (other := self._all.get(spec.id)) is not None and not other.reply.is_wanted:
            self._abandon(other, ClosedError(), now)
        if spec.id in self._all or self._engine.sessions.get(spec.id) is not None:
            reply.fail(InvalidError("id", f'this client has a session "{spec.id}" already'))
            return
        opening = Opening(spec, give_up, reply, backoff())
        self._all[spec.id] = opening
        self._engine.timers.set(give_up, lambda now: self._give_up(opening, now))
        self._send(opening, now)

    def send_all(self, now: int) -> None:
        for opening in tuple(self._all.values()):
            self._send(opening, now)

    def send(self, session_id: str, now: int) -> None:
        """The session of this id that was in the way is over."""
        if (opening := self._all.get(session_id)) is not None:
            self._send(opening, now)

    def detach_all(self) -> None:
        for opening in self._all.values():
            opening.command = None

    def end_all(self, now: int) -> None:
        """The client shuts down."""
        for opening in tuple(self._all.values()):
            self._abandon(opening, ClosedError(), now)

    def refuse_all(self, refusal: Refusal, now: int) -> None:
        """No server knows who this is: nobody is to wait until one does."""
        for opening in tuple(self._all.values()):
            self._abandon(opening, RefusedError(refusal), now)

    def _is_open(self, opening: Opening) -> bool:
        return self._all.get(opening.spec.id) is opening

    def _send(self, opening: Opening, now: int) -> None:
        spec = opening.spec
        # A session of the same id that is still being closed goes first; its end asks again. So does the next stream.
        if spec.id in self._engine.closings or self._engine.stream is None:
            return
        if not self._is_open(opening) or opening.command is not None:
            return
        opening.attachment += 1
        request = session_pb2.OpenSessionRequest(
            namespace=self._engine.namespace,
            session_id=spec.id,
            ttl=convert.to_wire(spec.ttl),
            owner=spec.owner,
            metadata=spec.metadata,
            disconnect_grace=None if spec.disconnect_grace is None else convert.to_wire(spec.disconnect_grace),
            attachment=opening.attachment,
            client_id=self._engine.client_id,
        )

        def answered(answer: pb.Answer, sent: int, now: int) -> None:
            if not self._is_open(opening):
                return
            if answer.HasField("open_session"):
                self._opened(opening, answer.open_session.session, sent, now)
            elif answer.HasField("refusal"):
                self._refused(opening, convert.refusal(answer.refusal), now)
            else:
                self._engine.misfit(answer)

        opening.command = self._engine.send(pb.Command(open_session=request), answered, now)
        if opening.command is not None:
            self._engine.expect_answer(opening.command, PATIENCE, now, or_leave=True)

    def _opened(self, opening: Opening, session: session_pb2.Session, sent: int, now: int) -> None:
        ttl = convert.from_wire(session.ttl) if session.HasField("ttl") else opening.spec.ttl
        grace = convert.from_wire(session.disconnect_grace) if session.HasField("disconnect_grace") else None
        presence = SessionPresence(ttl, grace, sent, opening.spec.progress)
        if presence.check(now) == SessionState.LOST and presence.lost is not None:
            self._abandon(opening, LostError(presence.lost), now)
            return
        del self._all[opening.spec.id]
        live = self._engine.sessions.begin(opening.spec.id, session.owner, presence, opening.attachment, sent, now)
        if not opening.reply.ok(live):
            self._engine.sessions.close(live, now)

    def _refused(self, opening: Opening, refusal: Refusal, now: int) -> None:
        opening.command = None
        for_now = self._engine.is_for_now(refusal)
        if refusal.counted is not None:
            opening.attachment = max(opening.attachment, refusal.counted)
            self._send(opening, now)
        elif for_now:
            opening.refusal = refusal
            opening.refusals += 1
            self._engine.timers.set(now + opening.backoff.next_pause(), lambda now: self._send(opening, now))
            if opening.refusals % TRIES == 0:
                self._engine.leave_if_idle()
        else:
            del self._all[opening.spec.id]
            opening.reply.fail(RefusedError(refusal))

    def _give_up(self, opening: Opening, now: int) -> None:
        if self._is_open(opening):
            self._abandon(opening, self._engine.in_vain(opening.refusal), now)

    def _abandon(self, opening: Opening, error: TenureError, now: int) -> None:
        """Stops opening a session, which may be open all the same if it was asked for: then it is closed."""
        del self._all[opening.spec.id]
        opening.reply.fail(error)
        if opening.attachment == 0:
            return
        self._engine.closings.begin(opening.spec.id, now + opening.spec.ttl, None, now)
