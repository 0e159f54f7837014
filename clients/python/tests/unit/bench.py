"""The protocol against a scripted server: the tests pass the time, and decide what arrives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenure import v1
from tenure.clock import to_wire
from tenure.error import Lost, LostReason
from tenure.protocol import Item, Protocol

RENEW_AFTER, WARN_AFTER, VALID_FOR = 0.4, 0.72, 1.1
RELEASED, CLOSED = Lost(LostReason.RELEASED), Lost(LostReason.CLOSED)
FORGOTTEN, UNRENEWED = Lost(LostReason.FORGOTTEN), Lost(LostReason.UNRENEWED)


def claim_to(name: str, **fields: Any) -> v1.DeclaredClaim:
    return v1.DeclaredClaim(names=[name], **fields)


def opened(
    renew_after: float = RENEW_AFTER, warn_after: float = WARN_AFTER, valid_for: float = VALID_FOR
) -> v1.OpenState:
    return v1.OpenState(
        session_id="a",
        renew_after=to_wire(renew_after, "renew_after"),
        warn_after=to_wire(warn_after, "warn_after"),
        valid_for=to_wire(valid_for, "valid_for"),
    )


def held(token: int) -> v1.HeldState:
    return v1.HeldState(token=token)


def ended(reason: v1.EndReason.ValueType) -> v1.EndedState:
    return v1.EndedState(reason=reason)


def reported(reason: v1.EndReason.ValueType) -> Lost:
    return Lost(LostReason.ENDED, ended(reason))


FIELDS = {
    v1.OpenState: "open",
    v1.WaitingState: "waiting",
    v1.HeldState: "held",
    v1.JoinedState: "joined",
    v1.EndedState: "ended",
    v1.BusyState: "busy",
    v1.Refusal: "rejected",
}


class Bench:
    """A client's protocol, and the time."""

    def __init__(self) -> None:
        self.protocol = Protocol("default", "client")
        self.now = 10.0
        self.epoch = 0

    @classmethod
    def connected(cls) -> Bench:
        """Connected and welcomed."""
        bench = cls()
        bench.connect()
        bench.hello()
        bench.welcome()
        bench.changed()
        return bench

    def connect(self) -> None:
        self.epoch = self.protocol.handle_connected(self.now)

    def reconnect(self) -> None:
        self.protocol.handle_disconnected(self.epoch)
        self.connect()

    def pass_time(self, time: float) -> None:
        """Lets time pass, with all timers in it."""
        until = self.now + time
        while (due := self.protocol.timeout) <= until:
            self.now = max(due, self.now)
            self.protocol.handle_timeout(self.now)
            assert self.protocol.timeout > self.now, "a timer that is always due"
        self.now = until

    def open(self) -> Item:
        return self.protocol.declare(open=v1.DeclaredSession())

    def session(self) -> Item:
        """An open session."""
        session = self.open()
        self.sent()
        self.states((session, opened()))
        self.changed()
        return session

    def claim(self, session: Item, name: str = "job") -> Item:
        return self.protocol.declare(session=session, part=claim_to(name))

    def hold(self, session: Item, token: int) -> Item:
        """A held claim."""
        claim = self.claim(session)
        self.sent()
        self.states((claim, held(token)))
        self.changed()
        return claim

    def withdraw(self, item: Item) -> None:
        self.protocol.withdraw(item, self.now)

    def sent(self) -> list[v1.ConnectRequest]:
        """All messages that are to be sent."""
        sent = []
        while (request := self.protocol.poll_transmit(self.now)) is not None:
            assert request.ByteSize() < 4 << 20
            sent.append(request)
        return sent

    def hello(self) -> v1.Hello:
        """The Hello, which is sent alone."""
        (request,) = self.sent()
        assert request.HasField("hello")
        return request.hello

    def changes(self) -> list[v1.Change]:
        """The changes, which are sent alone."""
        sent = self.sent()
        assert all(request.HasField("changes") for request in sent)
        return [change for request in sent for change in request.changes.changes]

    def keep_alive(self) -> int:
        """The number of the keep-alive, which is sent alone."""
        (request,) = self.sent()
        assert request.HasField("keep_alive")
        return request.keep_alive.number

    def receive(self, epoch: int | None = None, **kind: Any) -> None:
        self.protocol.handle_response(self.epoch if epoch is None else epoch, v1.ConnectResponse(**kind), self.now)

    def welcome(self, lost_revision: int = 0) -> None:
        self.receive(welcome=v1.Welcome(lost_revision=lost_revision))

    def kept(self, number: int, epoch: int | None = None) -> None:
        self.receive(epoch, kept_alive=v1.KeptAlive(number=number))

    def states(self, *states: tuple[Item, Any], epoch: int | None = None) -> None:
        messages = [v1.State(number=item.number, **{FIELDS[type(kind)]: kind}) for item, kind in states]
        self.receive(epoch, states=v1.States(states=messages))

    def changed(self) -> list[Item]:
        """What has changed since the last look."""
        changed = list(self.protocol.changed)
        self.protocol.changed.clear()
        return changed

    def ends(self) -> dict[int, Any]:
        """What has ended since the last look, and why."""
        return {item.number: item.end for item in self.changed() if item.end is not None}


def withdrawals(changes: Iterable[v1.Change]) -> list[int]:
    return [change.withdraw for change in changes if change.HasField("withdraw")]


def until(item: Item) -> float:
    """Until when a session is valid."""
    assert item.validity is not None
    return item.validity.until


def renewed(item: Item) -> float:
    """When the last acknowledged renewal of a session was sent."""
    assert item.validity is not None
    return item.validity.renewed
