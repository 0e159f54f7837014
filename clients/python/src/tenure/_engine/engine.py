"""The state of a client: which sessions, claims and watches there are, and what has to be said to a server about them.

No I/O and no clock: the connection passes in the time, what has been received and what has been asked, and takes out what is
to be sent. Recovery is the ordinary path: all commands are such that sending them again is harmless, so whatever is not
answered yet is sent anew on each new stream.
"""

import logging
from enum import Enum

from tenure import convert
from tenure._engine.claims import Claims
from tenure._engine.closings import Closings
from tenure._engine.grants import Grants
from tenure._engine.openings import Openings
from tenure._engine.reply import Reply
from tenure._engine.sessions import Sessions
from tenure._engine.stream import Answered, Stream
from tenure._engine.timers import Timers
from tenure._engine.watches import Watches
from tenure.errors import Lost, LostReason, Refusal, RefusedError, TenureError, UnavailableError
from tenure.v1 import stream_pb2 as pb

log = logging.getLogger("tenure")

#: The namespace of commands that name none: the contract's.
DEFAULT_NAMESPACE = "default"


class Verdict(Enum):
    """What a stream is good for."""

    #: Connect elsewhere, and stay meanwhile.
    LEAVE = 1
    #: Drop it now, and connect elsewhere.
    BROKEN = 2


class Engine:
    """The state of a client."""

    def __init__(self, namespace: str, client_id: str) -> None:
        #: As commands name it: empty for the default one.
        self.namespace = "" if namespace == DEFAULT_NAMESPACE else namespace
        #: Random: tells the client's sessions apart from those of other programs that use the same ids.
        self.client_id = client_id
        self.stream: Stream | None = None
        self.timers = Timers()
        self.openings = Openings(self)
        self.sessions = Sessions(self)
        self.claims = Claims(self)
        self.grants = Grants(self)
        self.closings = Closings(self)
        self.watches = Watches(self)
        self._last_command = 0
        self._verdict: Verdict | None = None
        self._problem = "not connected yet"
        self._shut_down: Reply[None] | None = None

    def connected(self, now: int) -> None:
        """A stream was opened: all that is not settled is said on it anew."""
        self._detach()
        self.stream = Stream(self._last_command)
        self._verdict = None
        self.sessions.send_all(now)
        self.openings.send_all(now)
        self.closings.send_all(now)
        self.watches.send_all(now)

    def disconnected(self, problem: str) -> None:
        """The stream is gone, or none could be opened."""
        self._detach()
        self._problem = problem

    def take_verdict(self) -> Verdict | None:
        """What became of the stream since this was asked last."""
        verdict, self._verdict = self._verdict, None
        return verdict

    def take_outgoing(self, most: int) -> list[pb.Command]:
        """What is to be sent next: at most so many commands."""
        if self.stream is None:
            return []
        outgoing = self.stream.outgoing
        return [outgoing.popleft() for _ in range(min(most, len(outgoing)))]

    def due(self, now: int) -> None:
        """Does what is due."""
        while (act := self.timers.pop(now)) is not None:
            act(now)

    def received(self, response: pb.StreamResponse, now: int) -> None:
        """Takes in what was received on the stream that was opened last."""
        for answer in response.answers:
            if answer.id == 0:
                self.noticed(answer, now)
                continue
            # An answer to something that was cancelled is not looked for any more.
            sent = self.stream.sent.get(answer.id) if self.stream else None
            if self.stream is None or sent is None:
                continue
            if not sent.goes_on or answer.HasField("refusal"):
                del self.stream.sent[answer.id]
            sent.answered(answer, sent.at, now)

    def noticed(self, notice: pb.Answer, now: int) -> None:
        """Takes a notice in."""
        if notice.HasField("session_ended"):
            ended = notice.session_ended
            reason = Lost(LostReason.ENDED, convert.end_reason(ended))
            self.sessions.ended(ended.session_id, reason, now)
        elif notice.HasField("hold_ended") or notice.HasField("transfer_requested"):
            self.grants.noticed(notice, now)
        elif notice.HasField("session_moved"):
            log.info("session %s was moved, and is attached again", notice.session_moved.session_id)
            self.sessions.moved(notice.session_moved.session_id, now)
        elif notice.HasField("going_away"):
            log.info("the server is going away")
            self.judge(Verdict.LEAVE)

    def shut_down(self, give_up: int, reply: Reply[None], now: int) -> None:
        """Closes all sessions and ends all watches."""
        self._shut_down = reply
        self.timers.set(give_up, self._give_up_shutting_down)
        self.watches.end_all()
        self.openings.end_all(now)
        self.sessions.close_all(now)

    def take_shut_down(self) -> bool:
        """Whether it was asked to shut down and has."""
        if self._shut_down is None or self.closings or self.sessions:
            return False
        self._shut_down.ok(None)
        self._shut_down = None
        return True

    def send(self, command: pb.Command, answered: Answered, now: int, *, goes_on: bool = False) -> int | None:
        """Sends a command if there is a stream. Answers its id."""
        return None if self.stream is None else self.stream.send(command, answered, now, goes_on=goes_on)

    def cancel(self, command_id: int) -> None:
        """Ends a command that goes on."""
        if self.stream is not None:
            self.stream.cancel(command_id)

    def expect_answer(self, command: int, limit: int, now: int, *, or_leave: bool = False) -> None:
        """Without an answer within the limit the stream is broken; or only left, and only if it serves no session."""

        def look(_: int) -> None:
            if self.stream is None or command not in self.stream.sent:
                return
            if or_leave:
                self.leave_if_idle()
            else:
                log.warning("the server does not answer")
                self.judge(Verdict.BROKEN)

        self.timers.set(now + limit, look)

    def misfit(self, answer: pb.Answer) -> None:
        """The server gave an answer that does not fit the question."""
        log.error("the server gave an answer that does not fit the question: %s", answer.WhichOneof("kind"))
        self.judge(Verdict.BROKEN)

    def judge(self, verdict: Verdict) -> None:
        """A broken stream stays broken."""
        if self._verdict != Verdict.BROKEN:
            self._verdict = verdict

    def leave_if_idle(self) -> None:
        """Another server may do what this one cannot; but not at the cost of a session that this one serves."""
        if not self.sessions.is_any_attached():
            self.judge(Verdict.LEAVE)

    def is_for_now(self, refusal: Refusal) -> bool:
        """Whether a refusal is for now only. If it is this server's alone, another one is looked for."""
        if refusal.reason in ("LEASE_LOST", "DRAINING"):
            self.judge(Verdict.LEAVE)
        return refusal.is_transient

    def in_vain(self, refusal: Refusal | None) -> TenureError:
        """What to tell who has waited in vain."""
        if refusal is not None:
            return RefusedError(refusal)
        return UnavailableError(self._problem if self.stream is None else "the server did not answer")

    def _detach(self) -> None:
        if self.stream is not None:
            self._last_command = self.stream.last_command
            self.stream = None
        self.sessions.detach_all()
        self.openings.detach_all()
        self.closings.detach_all()
        self.watches.detach_all()

    def _give_up_shutting_down(self, _: int) -> None:
        if self._shut_down is not None:
            self._shut_down.fail(UnavailableError(self._problem))
            self.closings.forget_all()
