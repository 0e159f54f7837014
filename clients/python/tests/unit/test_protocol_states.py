"""What the states of the server cause."""

import pytest

from tenure import v1
from tests.unit.bench import CLOSED, FORGOTTEN, RELEASED, Bench, claim_to, ended, held, opened, reported, withdrawals


def test_claim_waits_and_is_held() -> None:
    bench = Bench.connected()
    claim = bench.claim(bench.session())
    bench.sent()
    waiting = v1.WaitingState(holder=v1.Claim(token=3))
    requested = v1.HeldState(token=7, transfer=v1.PendingTransfer(operator="op"))
    for state in (waiting, held(7), requested):
        bench.states((claim, state))
        assert (bench.changed(), claim.state, claim.state_at) == ([claim], state, bench.now)
    assert (claim.token, claim.end) == (7, None)


def test_session_opened_for_a_busy_lock_ends_with_it() -> None:
    bench = Bench.connected()
    claim = bench.protocol.declare(open=v1.DeclaredSession(), part=claim_to("job"))
    (change,) = bench.changes()
    assert change.declare.session == claim.session.number
    assert change.declare.HasField("open")
    assert [one.number for one in change.declare.claims] == [claim.session.number + 1]
    busy = v1.BusyState(holder=v1.Claim(token=3))
    bench.states((claim, busy), (claim.session, busy))
    assert bench.ends() == {claim.number: busy, claim.session.number: busy}
    assert not bench.protocol.items


def test_rejected_session_ends_with_everything_in_it() -> None:
    bench = Bench.connected()
    session = bench.open()
    claim = bench.claim(session)
    bench.sent()
    refusal = v1.Refusal(reason="INVALID_FIELD")
    bench.states((session, refusal))
    assert bench.ends() == {claim.number: refusal, session.number: refusal}
    late = bench.claim(session)
    assert bench.ends() == {late.number: FORGOTTEN}


def test_states_after_a_withdrawal_are_ignored_until_the_end() -> None:
    bench = Bench.connected()
    claim = bench.claim(bench.session())
    bench.sent()
    bench.withdraw(claim)
    bench.withdraw(claim)
    assert bench.changed() == [claim]
    assert withdrawals(bench.changes()) == [claim.number], "withdrawn once"
    bench.states((claim, held(7)))
    assert bench.changed() == []
    bench.states((claim, ended(v1.END_REASON_RELEASED)), (claim, held(7)))
    assert bench.ends() == {claim.number: RELEASED}


def test_withdrawn_session_ends_with_everything_in_it() -> None:
    bench = Bench.connected()
    session = bench.session()
    claim = bench.hold(session, 7)
    unsent = bench.claim(session, "other")
    bench.withdraw(session)
    bench.withdraw(claim)
    assert bench.ends() == {unsent.number: RELEASED}
    assert withdrawals(bench.changes()) == [session.number]
    late = bench.claim(session)
    assert bench.ends() == {late.number: FORGOTTEN}
    bench.states((session, ended(v1.END_REASON_CLOSED)))
    assert bench.ends() == {claim.number: RELEASED, session.number: CLOSED}
    bench.pass_time(3)
    assert (bench.sent(), bench.changed()) == ([], []), "nothing is left to renew"


@pytest.mark.parametrize("state", [held(9), v1.WaitingState()])
def test_hold_that_the_database_lost_ends_at_once(state: v1.HeldState | v1.WaitingState) -> None:
    bench = Bench.connected()
    session = bench.session()
    claim = bench.hold(session, 7)
    bench.reconnect()
    bench.hello()
    bench.welcome()
    bench.states((session, opened()), (claim, state))
    assert bench.ends() == {claim.number: FORGOTTEN}
    assert withdrawals(bench.changes()) == [claim.number]
    bench.states((claim, ended(v1.END_REASON_RELEASED)))
    assert bench.changed() == []


@pytest.mark.parametrize("reason", v1.EndReason.values())
def test_withdrawn_hold_is_released_unless_it_was_lost_before(reason: v1.EndReason.ValueType) -> None:
    bench = Bench.connected()
    claim = bench.hold(bench.session(), 7)
    bench.withdraw(claim)
    bench.states((claim, ended(reason)))
    is_lost = reason in (v1.END_REASON_EXPIRED, v1.END_REASON_DISCONNECTED, v1.END_REASON_EVICTED)
    assert bench.ends() == {claim.number: reported(reason) if is_lost else RELEASED}


def test_withdrawn_hold_that_waits_again_is_not_reported_as_released() -> None:
    bench = Bench.connected()
    claim = bench.hold(bench.session(), 7)
    bench.withdraw(claim)
    bench.states((claim, v1.WaitingState()))
    assert bench.ends() == {claim.number: FORGOTTEN}


@pytest.mark.parametrize(("lost_revision", "end"), [(7, RELEASED), (8, FORGOTTEN)])
def test_released_hold_that_the_database_lost_is_not_reported_as_released(lost_revision: int, end: object) -> None:
    bench = Bench.connected()
    session = bench.session()
    claim = bench.hold(session, 7)
    bench.withdraw(claim)
    bench.reconnect()
    bench.sent()
    bench.welcome(lost_revision)
    bench.states((session, opened()), (claim, ended(v1.END_REASON_UNSPECIFIED)))
    assert bench.ends() == {claim.number: end}


def test_states_of_an_earlier_stream_are_ignored() -> None:
    bench = Bench.connected()
    claim = bench.claim(bench.session())
    bench.sent()
    before = bench.epoch
    bench.connect()
    bench.states((claim, held(7)), epoch=before)
    assert bench.changed() == []
    assert bench.hello().declared[0].claims[0].number == claim.number
