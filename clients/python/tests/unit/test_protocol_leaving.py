"""When the client leaves its server."""

import pytest

from tenure import v1
from tests.unit.bench import RENEW_AFTER, VALID_FOR, Bench


def test_server_that_is_going_away_is_left() -> None:
    bench = Bench.connected()
    assert not bench.protocol.needs_stream
    bench.receive(going_away=v1.GoingAway())
    assert bench.protocol.needs_stream
    bench.connect()
    assert not bench.protocol.needs_stream


def test_server_that_does_not_acknowledge_is_left_in_time() -> None:
    bench = Bench.connected()
    bench.session()
    bench.pass_time(RENEW_AFTER + VALID_FOR / 4 - 0.001)
    assert not bench.protocol.needs_stream
    bench.pass_time(0.002)
    assert bench.protocol.needs_stream


def test_server_that_does_not_welcome_is_left() -> None:
    bench = Bench()
    bench.connect()
    bench.pass_time(0.999)
    assert not bench.protocol.needs_stream
    bench.pass_time(0.002)
    assert bench.protocol.needs_stream


@pytest.mark.parametrize("has_session", [False, True])
def test_slow_reply_is_probed_and_left_only_without_a_session(has_session: bool) -> None:
    bench = Bench.connected()
    if has_session:
        bench.session()
    bench.open()
    bench.changes()
    # The probe, and the renewals of the session.
    for pause in (0.25, 0.15, 0.4, 0.199):
        bench.pass_time(pause)
        sent = bench.sent()
        assert has_session or len(sent) == (pause == 0.25)
        for request in sent:
            assert request.HasField("keep_alive")
            bench.kept(request.keep_alive.number)
    assert not bench.protocol.needs_stream
    bench.pass_time(0.002)
    assert bench.protocol.needs_stream is not has_session


@pytest.mark.parametrize(
    ("reason", "is_left"),
    [("DRAINING", True), ("LEASE_LOST", True), ("STORE_UNAVAILABLE", False), ("LIMIT_REACHED", False)],
)
def test_rejection_by_a_server_that_goes_away_makes_the_client_leave(reason: str, is_left: bool) -> None:
    bench = Bench.connected()
    claim = bench.claim(bench.session())
    bench.sent()
    bench.states((claim, v1.Refusal(reason=reason)))
    assert bench.protocol.needs_stream is is_left


def test_temporary_rejection_makes_a_client_without_a_session_leave() -> None:
    bench = Bench.connected()
    session = bench.open()
    bench.sent()
    bench.states((session, v1.Refusal(reason="STORE_UNAVAILABLE")))
    assert bench.protocol.needs_stream
