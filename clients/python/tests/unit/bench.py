"""An engine against a scripted server, with the time passed in."""

from collections.abc import Iterable
from typing import Any

from tenure import clock, convert
from tenure._engine.claims import AcquireSpec, Entry, Grant
from tenure._engine.engine import Engine
from tenure._engine.openings import SessionSpec
from tenure._engine.reply import Reply
from tenure._engine.sessions import Live
from tenure.clock import MILLISECOND, SECOND
from tenure.model import Busy
from tenure.progress import Progress
from tenure.request import acquire_spec
from tenure.v1 import lock_pb2, session_pb2
from tenure.v1 import stream_pb2 as pb

TTL = 1200 * MILLISECOND
CALL = 5 * SECOND


class Bench:
    """An engine that is connected. Its time begins now, because handles look at the real clock."""

    def __init__(self) -> None:
        self.engine = Engine("default", "program-1")
        self.now = clock.now()
        self.engine.connected(self.now)

    def pass_time(self, duration: int) -> None:
        """Lets time pass, doing what is due when it is."""
        until = self.now + duration
        while (at := self.engine.timers.next()) is not None and at <= until:
            self.now = max(self.now, at)
            self.engine.due(self.now)
        self.now = until

    def said(self) -> list[pb.Command]:
        return self.engine.take_outgoing(1 << 30)

    def said_once(self, kind: str) -> pb.Command:
        """The only thing said, which is of this kind."""
        said = self.said()
        assert [command.WhichOneof("kind") for command in said] == [kind]
        return said[0]

    def hear(self, command: pb.Command | int, **kind: Any) -> None:
        answer = pb.Answer(id=command if isinstance(command, int) else command.id, **kind)
        self.engine.received(pb.StreamResponse(answers=[answer]), self.now)

    def refuse(self, command: pb.Command, reason: str, **metadata: str) -> None:
        self.hear(command, refusal=session_pb2.Refusal(reason=reason, metadata=metadata))

    def reconnect(self) -> None:
        self.engine.disconnected("gone")
        self.engine.connected(self.now)

    def opening(self, session_id: str = "a", **options: Any) -> Reply[Live]:
        reply: Reply[Live] = Reply()
        spec = SessionSpec(session_id, **{"ttl": TTL, **options})
        self.engine.openings.open(spec, self.now + CALL, reply, self.now)
        return reply

    def session(self, session_id: str = "a", *, granted: session_pb2.Session | None = None, **options: Any) -> Live:
        reply = self.opening(session_id, **options)
        command = self.said_once("open_session")
        self.hear(command, open_session=session_pb2.OpenSessionResponse(session=granted or told_session(session_id)))
        assert reply.value is not None
        return reply.value

    def depending(self, session_id: str, within: int) -> tuple[Live, Progress]:
        """A session that depends on progress, which began with it."""
        progress = Progress(within, self.now)
        return self.session(session_id, progress=progress), progress

    def acquire(
        self, live: Live, wait: int | None = None, spec: AcquireSpec | None = None
    ) -> tuple[Entry, Reply[Grant | Busy]]:
        reply: Reply[Grant | Busy] = Reply()
        entry = self.engine.claims.acquire(live, spec or acquire_spec(["job"]), wait, CALL, reply, self.now)
        assert entry is not None
        return entry, reply

    def hold(self, live: Live, token: int, spec: AcquireSpec | None = None) -> Grant:
        _, reply = self.acquire(live, spec=spec)
        self.hear(self.said_once("acquire"), acquire=acquired(token))
        return granted(reply)

    def pass_renewing(self, duration: int) -> int:
        """Lets time pass, with each renewal answered at once. Answers how many there were."""
        until, renewals = self.now + duration, 0
        while self.now < until:
            self.pass_time(min(10 * MILLISECOND, until - self.now))
            for command in self.said():
                assert command.WhichOneof("kind") == "keep_alive"
                self.hear(command, keep_alive=kept(command.keep_alive.session_ids))
                renewals += len(command.keep_alive.session_ids)
        return renewals


def granted(reply: Reply[Grant | Busy]) -> Grant:
    assert isinstance(reply.value, Grant)
    return reply.value


def told_session(
    session_id: str = "a", tokens: Iterable[int] = (), *, ttl: int = TTL, grace: int | None = None
) -> session_pb2.Session:
    told = session_pb2.Session(id=session_id, ttl=convert.to_wire(ttl))
    for token in tokens:
        told.claims.add(names=["job"], token=token, state=session_pb2.CLAIM_STATE_HELD)
    if grace is not None:
        told.disconnect_grace.CopyFrom(convert.to_wire(grace))
    return told


def attached(tokens: Iterable[int] = (), revision: int = 9, **options: Any) -> pb.AttachedSession:
    return pb.AttachedSession(session=told_session("a", tokens, **options), revision=revision)


def acquired(token: int) -> lock_pb2.AcquireResponse:
    return lock_pb2.AcquireResponse(acquired=True, token=token)


def kept(session_ids: Iterable[str] = ("a",), ttl: int = TTL) -> session_pb2.KeepAliveResponse:
    return session_pb2.KeepAliveResponse(
        sessions=[session_pb2.KeptSession(session_id=one, ttl=convert.to_wire(ttl)) for one in session_ids]
    )
