"""What a Hello states, and what becomes of that."""

from tenure import v1
from tenure.error import Lost, LostReason
from tests.unit.bench import (
    CLOSED,
    RELEASED,
    Bench,
    claim_to,
    ended,
    held,
    opened,
    renewed,
    reported,
    withdrawals,
)

#: The contract's bound on the declarations of a Hello, in bytes.
DECLARED_BYTES = 1 << 20


def test_hello_states_the_known_and_the_declared_in_order() -> None:
    bench = Bench.connected()
    session = bench.session()
    claim = bench.hold(session, 7)
    late, alone = bench.claim(session), bench.open()
    both = bench.protocol.declare(open=v1.DeclaredSession(), part=claim_to("other"))
    bench.sent()
    bench.reconnect()
    hello = bench.hello()
    assert (hello.client_id, hello.epoch, hello.more) == ("client", 2, False)
    assert (list(hello.known), list(hello.paused)) == ([session.number, claim.number], [])
    stated = [(one.session, one.HasField("open"), [claim.number for claim in one.claims]) for one in hello.declared]
    assert stated == [
        (session.number, False, [late.number]),
        (alone.number, True, []),
        (both.session.number, True, [both.number]),
    ]


def test_what_was_not_sent_follows_the_hello() -> None:
    bench = Bench()
    session = bench.open()
    claim = bench.claim(session)
    bench.connect()
    hello, changes = bench.sent()
    assert (list(hello.hello.known), list(hello.hello.declared)) == ([], [])
    assert [change.declare.session for change in changes.changes.changes] == [session.number] * 2
    assert changes.changes.changes[1].declare.claims[0].number == claim.number


def test_lost_hello_is_repeated_with_a_higher_epoch() -> None:
    bench = Bench.connected()
    session = bench.open()
    bench.sent()
    bench.reconnect()
    first = bench.hello()
    bench.pass_time(0.3)
    bench.reconnect()
    second = bench.hello()
    first.epoch += 1
    assert second == first
    bench.pass_time(0.05)
    bench.welcome()
    bench.states((session, opened()))
    assert renewed(session) == 10.3, "counts from the Hello that was answered"


def test_changes_in_flight_when_the_stream_breaks_are_stated_again() -> None:
    bench = Bench.connected()
    session = bench.session()
    kept, dropped = bench.hold(session, 7), bench.hold(session, 8)
    lost, cancelled = bench.claim(session), bench.claim(session)
    assert len(bench.changes()) == 2
    bench.withdraw(dropped)
    bench.withdraw(cancelled)
    assert len(bench.changes()) == 2, "sent, and lost"
    bench.reconnect()
    sent, again = bench.sent()
    known = [session.number, kept.number, dropped.number]
    assert list(sent.hello.known) == known, "so that the reason of its end is reported"
    assert [claim.number for one in sent.hello.declared for claim in one.claims] == [lost.number]
    assert withdrawals(again.changes.changes) == [dropped.number]
    bench.changed()
    bench.welcome()
    assert bench.ends() == {cancelled.number: RELEASED}, "the server has seen that it is not stated"
    bench.states((dropped, ended(v1.END_REASON_EVICTED)))
    assert bench.ends() == {dropped.number: reported(v1.END_REASON_EVICTED)}


def test_session_that_is_closed_when_the_stream_breaks_is_closed_again_with_all_in_it() -> None:
    bench = Bench.connected()
    session = bench.session()
    claim = bench.hold(session, 7)
    bench.withdraw(session)
    bench.reconnect()
    sent, again = bench.sent()
    assert list(sent.hello.known) == [session.number, claim.number]
    assert withdrawals(again.changes.changes) == [session.number]


def test_withdrawal_after_the_hello_is_confirmed_by_its_state() -> None:
    bench = Bench.connected()
    session = bench.session()
    claim = bench.hold(session, 7)
    bench.reconnect()
    assert list(bench.hello().known) == [session.number, claim.number]
    bench.withdraw(claim)
    bench.changed()
    bench.welcome()
    bench.states((claim, held(7)))
    assert bench.changed() == []
    assert withdrawals(bench.changes()) == [claim.number]
    bench.states((claim, ended(v1.END_REASON_RELEASED)))
    assert bench.ends() == {claim.number: RELEASED}


def test_what_was_never_sent_is_withdrawn_at_once() -> None:
    bench = Bench()
    session = bench.open()
    claim = bench.claim(session)
    bench.withdraw(session)
    assert bench.ends() == {claim.number: RELEASED, session.number: CLOSED}
    assert not bench.protocol.items
    bench.connect()
    hello = bench.hello()
    assert (list(hello.known), list(hello.declared)) == ([], [])


def test_ten_thousand_claims_are_declared_within_the_bound_of_a_hello() -> None:
    bench = Bench.connected()
    session = bench.session()
    label = {"label": "l" * 1_000}
    claims = [bench.protocol.declare(session=session, part=claim_to("job", metadata=label)) for _ in range(10_000)]
    stated: list[int] = []
    granted = 0
    while granted < len(claims):
        stated += [claim.number for change in bench.changes() for claim in change.declare.claims]
        # Whenever the stream breaks, the unconfirmed ones fit into the next Hello.
        bench.reconnect()
        hello, *_ = bench.sent()
        assert sum(one.ByteSize() for one in hello.hello.declared) < DECLARED_BYTES
        unconfirmed = [claim.number for one in hello.hello.declared for claim in one.claims]
        assert unconfirmed == stated[granted:]
        assert len(hello.hello.known) == 1 + granted
        bench.welcome()
        confirmed = claims[granted : len(stated)]
        granted = len(stated)
        bench.states(*((claim, held(claim.number)) for claim in confirmed))
    assert stated == [claim.number for claim in claims]


def test_withdrawn_declarations_make_room_for_others() -> None:
    bench = Bench.connected()
    session = bench.session()
    label = {"label": "l" * 100_000}
    first = [bench.protocol.declare(session=session, part=claim_to("job", metadata=label)) for _ in range(9)]
    second = bench.claim(session)
    assert len(bench.changes()) == 9
    bench.withdraw(first[0])
    withdrawal, declaration = bench.changes()
    assert withdrawal.withdraw == first[0].number
    assert declaration.declare.claims[0].number == second.number


def test_superseded_client_loses_everything_and_takes_a_new_id() -> None:
    bench = Bench.connected()
    session = bench.session()
    claim = bench.hold(session, 7)
    bench.reconnect()
    bench.protocol.handle_superseded(bench.epoch - 1, "other")
    assert bench.changed() == [], "that was this client's own doing"
    bench.protocol.handle_superseded(bench.epoch, "other")
    lost = Lost(LostReason.IN_USE)
    assert bench.ends() == {claim.number: lost, session.number: lost}
    following = bench.open()
    assert following.number > claim.number, "numbers are never used twice"
    bench.connect()
    hello, changes = bench.sent()
    assert (hello.hello.client_id, list(hello.hello.known)) == ("other", [])
    assert changes.changes.changes[0].declare.session == following.number
