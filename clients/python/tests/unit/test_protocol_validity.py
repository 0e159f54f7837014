"""How long sessions are valid."""

import random
from collections import deque

import pytest

from tenure import clock, v1
from tenure.error import Lost, LostReason
from tests.unit.bench import (
    RENEW_AFTER,
    UNRENEWED,
    VALID_FOR,
    WARN_AFTER,
    Bench,
    ended,
    opened,
    renewed,
    until,
    withdrawals,
)


def test_session_is_valid_from_the_declaration_and_then_from_each_keep_alive() -> None:
    bench = Bench.connected()
    session = bench.open()
    bench.pass_time(0.05)
    bench.sent()
    bench.pass_time(0.1)
    bench.states((session, opened()))
    assert (renewed(session), until(session)) == pytest.approx((10.05, 11.15))
    bench.pass_time(0.299)
    assert bench.sent() == []
    bench.pass_time(0.002)
    number = bench.keep_alive()
    bench.pass_time(0.1)
    bench.kept(number)
    assert until(session) == pytest.approx(11.55)
    bench.pass_time(0.3)
    bench.keep_alive()


def test_keep_alives_follow_the_session_that_needs_them_first() -> None:
    bench = Bench.connected()
    slow = bench.open()
    bench.sent()
    bench.states((slow, opened(10, 20, 30)))
    bench.pass_time(1)
    fast = bench.open()
    bench.sent()
    bench.states((fast, opened(1, 20, 30)))
    bench.pass_time(1)
    bench.kept(bench.keep_alive())
    bench.states((fast, ended(v1.END_REASON_CLOSED)))
    bench.pass_time(10)
    bench.keep_alive()


def test_session_that_is_not_renewed_is_lost() -> None:
    bench = Bench.connected()
    session = bench.session()
    claim = bench.hold(session, 7)
    bench.pass_time(WARN_AFTER)
    bench.pass_time(VALID_FOR - WARN_AFTER - 0.001)
    assert bench.ends() == {}
    bench.sent()
    bench.pass_time(0.002)
    assert bench.ends() == {claim.number: UNRENEWED, session.number: UNRENEWED}
    assert withdrawals(bench.changes()) == [session.number]
    bench.reconnect()
    assert list(bench.hello().known) == [], "the server is to end it"


def test_process_suspended_beyond_the_validity_loses_its_sessions_whatever_has_arrived() -> None:
    bench = Bench.connected()
    session = bench.session()
    bench.pass_time(RENEW_AFTER)
    number = bench.keep_alive()
    bench.now += 0.701
    bench.kept(number)
    assert bench.ends() == {session.number: UNRENEWED}
    bench.states((session, opened()))
    assert bench.changed() == []


def test_session_whose_state_arrives_too_late_is_lost() -> None:
    bench = Bench.connected()
    session = bench.open()
    bench.sent()
    bench.now += VALID_FOR
    bench.states((session, opened()))
    assert bench.ends() == {session.number: UNRENEWED}


def test_hello_renews_once_the_session_is_reported() -> None:
    bench = Bench.connected()
    session = bench.session()
    bench.pass_time(0.3)
    bench.reconnect()
    bench.hello()
    bench.pass_time(0.1)
    bench.welcome()
    assert renewed(session) == 10.0, "the session may have ended"
    bench.pass_time(0.3)
    bench.kept(bench.keep_alive())
    assert renewed(session) == 10.0
    bench.states((session, opened()))
    assert renewed(session) == pytest.approx(10.3)


def test_keep_alive_acknowledged_on_an_earlier_stream_does_not_count() -> None:
    bench = Bench.connected()
    session = bench.session()
    bench.pass_time(RENEW_AFTER)
    number, before = bench.keep_alive(), bench.epoch
    bench.pass_time(0.05)
    bench.connect()
    bench.kept(number, before)
    bench.welcome()
    assert renewed(session) == 10.0
    bench.states((session, opened()))
    assert renewed(session) == pytest.approx(10.45)


def test_paused_session_ages_and_resumed_one_is_renewed() -> None:
    bench = Bench.connected()
    session = bench.session()
    bench.pass_time(RENEW_AFTER)
    before = bench.keep_alive()
    bench.protocol.pause(session, bench.now)
    bench.protocol.pause(session, bench.now)
    assert [change.pause for change in bench.changes()] == [session.number]
    bench.kept(before)
    assert renewed(session) == pytest.approx(10.4), "sent before the pause"
    bench.pass_time(RENEW_AFTER)
    assert not any(request.HasField("keep_alive") for request in bench.sent()), "nothing to renew"
    bench.reconnect()
    hello = bench.hello()
    assert (list(hello.known), list(hello.paused)) == ([session.number], [session.number])
    bench.welcome()
    bench.states((session, opened()))
    assert renewed(session) == pytest.approx(10.4)
    bench.pass_time(0.1)
    bench.protocol.resume(session, bench.now)
    changes, keep_alive = bench.sent()
    assert [change.resume for change in changes.changes.changes] == [session.number]
    bench.kept(keep_alive.keep_alive.number)
    assert renewed(session) == pytest.approx(10.9)


def test_paused_session_is_lost_as_stalled() -> None:
    bench = Bench.connected()
    session = bench.session()
    bench.protocol.pause(session, bench.now)
    bench.pass_time(VALID_FOR)
    assert bench.ends() == {session.number: Lost(LostReason.STALLED)}


def test_session_that_a_handle_has_seen_expire_is_not_renewed() -> None:
    bench = Bench.connected()
    # The handle reads the clock itself, later than the protocol.
    bench.now = clock.now() - VALID_FOR
    session = bench.session()
    bench.pass_time(RENEW_AFTER)
    number = bench.keep_alive()
    assert session.lost_reason() == UNRENEWED
    bench.kept(number)
    assert bench.ends() == {session.number: UNRENEWED}
    assert withdrawals(bench.changes()) == [session.number]


def test_loss_is_final_and_decided_by_the_clock_at_the_moment_of_the_check() -> None:
    bench = Bench.connected()
    bench.now = clock.now() - VALID_FOR
    session = bench.session()
    claim = bench.claim(session)
    assert claim.lost_reason() == session.lost_reason() == UNRENEWED, "although no timer has run"
    bench.states((session, opened()))
    assert session.lost_reason() == UNRENEWED


class Server:
    """A server that ends a session as early as it may: its clock runs as fast as clocks may."""

    TTL = 1.2

    def __init__(self) -> None:
        self.renewed: float | None = None
        self.is_paused = False

    def is_over(self, now: float) -> bool:
        return self.renewed is None or now >= self.renewed + self.TTL / 1.01

    def handle(self, request: v1.ConnectRequest, number: int, now: float) -> list[v1.ConnectResponse]:
        replies = []
        if self.is_over(now):
            self.renewed = None
        if request.HasField("hello"):
            self.is_paused = number in request.hello.paused
            declares = any(one.HasField("open") for one in request.hello.declared)
            if (self.renewed is not None or declares) and not self.is_paused:
                self.renewed = now
            replies.append(v1.ConnectResponse(welcome=v1.Welcome()))
            if declares or number in request.hello.known:
                replies.append(self._state(number))
        if request.HasField("keep_alive"):
            if self.renewed is not None and not self.is_paused:
                self.renewed = now
            replies.append(v1.ConnectResponse(kept_alive=v1.KeptAlive(number=request.keep_alive.number)))
        for change in request.changes.changes:
            if change.HasField("declare"):
                self.renewed = now
                replies.append(self._state(number))
            elif change.HasField("withdraw"):
                self.renewed = None
            elif change.HasField("pause"):
                self.is_paused = True
            elif self.renewed is not None:
                self.is_paused, self.renewed = False, now
        return replies

    def _state(self, number: int) -> v1.ConnectResponse:
        state = v1.State(number=number)
        if self.renewed is None:
            state.ended.reason = v1.END_REASON_EXPIRED
        else:
            state.open.CopyFrom(opened())
        return v1.ConnectResponse(states=v1.States(states=[state]))


@pytest.mark.parametrize("seed", range(200))
def test_session_is_never_valid_after_the_server_may_have_ended_it(seed: int) -> None:
    """Whatever arrives when, what is called valid has not ended at the server."""
    drawn, bench, server = random.Random(seed), Bench(), Server()
    session = bench.open()
    bench.connect()
    to_server: list[v1.ConnectRequest] = []
    to_client: deque[v1.ConnectResponse] = deque()
    for _ in range(drawn.randrange(1, 200)):
        step = drawn.choices(("pass", "deliver", "reply", "break", "pause", "resume"), (8, 12, 12, 2, 1, 1))[0]
        if step == "pass":
            bench.pass_time(drawn.uniform(0, 0.4))
        elif step == "deliver":
            for request in to_server:
                to_client.extend(server.handle(request, session.number, bench.now))
            to_server.clear()
        elif step == "reply" and to_client:
            bench.protocol.handle_response(bench.epoch, to_client.popleft(), bench.now)
        elif step == "break":
            to_server.clear()
            to_client.clear()
            bench.reconnect()
        elif step == "pause":
            bench.protocol.pause(session, bench.now)
        elif step == "resume":
            bench.protocol.resume(session, bench.now)
        to_server.extend(bench.sent())
        if session.end is not None:
            return
        if session.validity is not None and bench.now < session.validity.until:
            assert not server.is_over(bench.now), f"seed {seed} at {bench.now}"
