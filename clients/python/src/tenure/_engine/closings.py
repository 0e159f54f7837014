"""Sessions that are being closed, so that what they held need not wait for their TTL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tenure import convert
from tenure._engine.pauses import backoff
from tenure._engine.reply import Reply
from tenure._link.backoff import Backoff
from tenure.errors import RefusedError
from tenure.v1 import session_pb2
from tenure.v1 import stream_pb2 as pb

if TYPE_CHECKING:
    from tenure._engine.engine import Engine
    from tenure.errors import Refusal


@dataclass(eq=False)
class Closing:
    """A session that is being closed."""

    id: str
    #: From then on the server has ended it by itself.
    until: int
    backoff: Backoff
    replies: list[Reply[None]] = field(default_factory=list)
    command: int | None = None
    refusal: Refusal | None = None


class Closings:
    """All sessions that are being closed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._all: dict[str, Closing] = {}

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._all

    def __bool__(self) -> bool:
        return bool(self._all)

    def begin(self, session_id: str, until: int, reply: Reply[None] | None, now: int) -> None:
        """Closes a session that is over on this side."""
        closing = self._all.get(session_id)
        if closing is None:
            closing = self._all[session_id] = Closing(session_id, until, backoff())
        closing.until = max(closing.until, until)
        if reply is not None:
            closing.replies.append(reply)
        self._forget_at(closing, until)
        self._send(closing, now)

    def join(self, session_id: str, reply: Reply[None]) -> None:
        """Waits for the end of one that may be under way."""
        if (closing := self._all.get(session_id)) is not None:
            closing.replies.append(reply)
        else:
            reply.ok(None)

    def give_up(self, session_id: str, reply: Reply[None]) -> None:
        """Nobody waits for this reply any longer. The session is closed further."""
        closing = self._all.get(session_id)
        if closing is not None and reply in closing.replies:
            closing.replies.remove(reply)
            reply.fail(self._engine.in_vain(closing.refusal))
            self._forget_at(closing, closing.until)

    def send_all(self, now: int) -> None:
        for closing in tuple(self._all.values()):
            self._send(closing, now)

    def detach_all(self) -> None:
        for closing in self._all.values():
            closing.command = None

    def forget_all(self) -> None:
        """They end by their TTLs."""
        closings = tuple(self._all.values())
        self._all.clear()
        for closing in closings:
            for reply in closing.replies:
                reply.fail(self._engine.in_vain(closing.refusal))

    def closed(self, session_id: str, now: int) -> None:
        """The server has ended the session."""
        if (closing := self._all.pop(session_id, None)) is not None:
            for reply in closing.replies:
                reply.ok(None)
            self._engine.openings.send(session_id, now)

    def request(self, session_id: str) -> session_pb2.CloseSessionRequest:
        """Asks to close a session of this client, and no other that has its id by now."""
        engine = self._engine
        return session_pb2.CloseSessionRequest(
            namespace=engine.namespace, session_id=session_id, client_id=engine.client_id
        )

    def _send(self, closing: Closing, now: int) -> None:
        if closing.command is not None or self._all.get(closing.id) is not closing:
            return
        request = self.request(closing.id)

        def answered(answer: pb.Answer, _: int, now: int) -> None:
            if self._all.get(closing.id) is not closing:
                return
            if answer.HasField("close_session"):
                self.closed(closing.id, now)
            elif answer.HasField("refusal"):
                self._refused(closing, convert.refusal(answer.refusal), now)
            else:
                self._engine.misfit(answer)

        closing.command = self._engine.send(pb.Command(close_session=request), answered, now)

    def _refused(self, closing: Closing, refusal: Refusal, now: int) -> None:
        closing.command = None
        if self._engine.is_for_now(refusal):
            closing.refusal = refusal
            self._engine.timers.set(now + closing.backoff.next_pause(), lambda now: self._send(closing, now))
        elif refusal.reason in ("SESSION_ENDED", "SESSION_NOT_FOUND", "SESSION_IN_USE"):
            self.closed(closing.id, now)
        else:
            del self._all[closing.id]
            for reply in closing.replies:
                reply.fail(RefusedError(refusal))
            self._engine.openings.send(closing.id, now)

    def _forget_at(self, closing: Closing, until: int) -> None:
        def forget(now: int) -> None:
            # Who still waits for an answer is told by its own deadline.
            if self._all.get(closing.id) is closing and closing.until <= now and not closing.replies:
                self.closed(closing.id, now)

        self._engine.timers.set(until, forget)
