"""Sessions: renewed, attached, lost."""

import pytest

from tenure._engine.engine import Verdict
from tenure._engine.reply import Reply
from tenure.clock import MILLISECOND, SECOND
from tenure.errors import Lost, LostReason, Refusal, RefusedError
from tenure.presence import SessionState
from tenure.progress import Progress
from tenure.v1 import session_pb2
from tenure.v1 import stream_pb2 as pb
from tests.unit.bench import CALL, TTL, Bench, attached, kept, told_session

MS = MILLISECOND
GRACE = 600 * MS
#: A grace less drift and margin.
SAFE = (600 - 6 - 30) * MS
LONG = 10 * SECOND


def test_sessions_are_renewed_together_at_a_third_of_the_ttl() -> None:
    bench = Bench()
    bench.session("a")
    bench.pass_time(50 * MS)
    bench.session("b")
    bench.pass_time(349 * MS)
    assert bench.said() == []
    bench.pass_time(MS)
    assert sorted(bench.said_once("keep_alive").keep_alive.session_ids) == ["a", "b"]


def test_a_server_that_does_not_answer_a_renewal_is_left_while_there_is_time() -> None:
    bench = Bench()
    live = bench.session()
    bench.pass_time(699 * MS)
    assert bench.engine.take_verdict() is None
    bench.pass_time(MS)
    assert bench.engine.take_verdict() == Verdict.BROKEN
    bench.reconnect()
    bench.hear(bench.said_once("attach_session"), attached_session=attached())
    assert live.presence.validity.until == bench.now + 1128 * MS, "counted from the sending of the attach"
    bench.pass_time(400 * MS)
    bench.said_once("keep_alive")


def test_what_opens_attaches_and_closes_a_session_names_the_client() -> None:
    bench = Bench()
    reply = bench.opening()
    command = bench.said_once("open_session")
    assert command.open_session.client_id == "program-1"
    bench.hear(command, open_session=session_pb2.OpenSessionResponse(session=told_session()))
    bench.reconnect()
    assert bench.said_once("attach_session").attach_session.client_id == "program-1"
    assert reply.value is not None
    bench.engine.sessions.close(reply.value, bench.now)
    assert bench.said_once("close_session").close_session.client_id == "program-1"


def test_renewals_keep_a_session_and_silence_ends_it() -> None:
    bench = Bench()
    live = bench.session()
    for _ in range(50):
        bench.pass_time(400 * MS)
        bench.hear(bench.said_once("keep_alive"), keep_alive=kept())
    assert live.presence.validity.until == bench.now + 1128 * MS
    bench.engine.disconnected("gone")
    bench.pass_time(1128 * MS)
    assert live.presence.lost == Lost(LostReason.EXPIRED)
    bench.engine.connected(bench.now)
    # So that others need not wait for the TTL.
    bench.said_once("close_session")


def test_a_shorter_ttl_is_renewed_earlier() -> None:
    bench = Bench()
    live = bench.session()
    bench.pass_time(400 * MS)
    until = live.presence.validity.until
    bench.hear(bench.said_once("keep_alive"), keep_alive=kept(ttl=300 * MS))
    assert live.presence.validity.until == until, "what was promised before still stands"
    bench.pass_time(100 * MS)
    bench.said_once("keep_alive")


def test_a_moved_session_is_attached_again_and_old_answers_do_not_count() -> None:
    bench = Bench()
    live = bench.session()
    bench.pass_time(400 * MS)
    renewal = bench.said_once("keep_alive")
    until = live.presence.validity.until
    bench.pass_time(10 * MS)
    bench.hear(0, session_moved=pb.SessionMoved(session_id="a"))
    bench.hear(renewal, keep_alive=kept())
    assert live.presence.validity.until == until
    bench.pass_time(MS)
    bench.hear(bench.said_once("attach_session"), attached_session=attached())
    assert live.presence.validity.until > until


def test_a_server_that_goes_away_is_left() -> None:
    bench = Bench()
    bench.session()
    bench.hear(0, going_away=pb.GoingAway())
    assert bench.engine.take_verdict() == Verdict.LEAVE


@pytest.mark.parametrize("serves_another", [False, True])
def test_a_server_that_cannot_open_a_session_is_left_unless_it_serves_another(serves_another: bool) -> None:
    bench = Bench()
    if serves_another:
        bench.session("other")
    bench.opening()
    for _ in range(3):
        bench.refuse(bench.said_once("open_session"), "STORE_UNAVAILABLE")
        bench.pass_time(80 * MS)
    assert bench.engine.take_verdict() == (None if serves_another else Verdict.LEAVE)


def test_every_stream_is_told_of_one_more_attachment() -> None:
    bench = Bench()
    bench.opening()
    assert bench.said_once("open_session").open_session.attachment == 1
    bench.reconnect()
    command = bench.said_once("open_session")
    assert command.open_session.attachment == 2
    bench.hear(command, open_session=session_pb2.OpenSessionResponse(session=told_session()))
    for count in range(3, 6):
        bench.reconnect()
        command = bench.said_once("attach_session")
        assert command.attach_session.attachment == count
        bench.hear(command, attached_session=attached())


def test_who_is_told_to_be_late_counts_on_from_there() -> None:
    bench = Bench()
    reply = bench.opening()
    bench.refuse(bench.said_once("open_session"), "LATE_ATTACHMENT", attachment="7")
    command = bench.said_once("open_session")
    assert command.open_session.attachment == 8
    bench.hear(command, open_session=session_pb2.OpenSessionResponse(session=told_session()))
    assert reply.value is not None
    bench.reconnect()
    bench.refuse(bench.said_once("attach_session"), "LATE_ATTACHMENT", attachment="20")
    bench.pass_time(80 * MS)
    assert bench.said_once("attach_session").attach_session.attachment == 21


def test_an_opening_that_was_given_up_is_closed() -> None:
    bench = Bench()
    reply = bench.opening()
    reply.drop()
    command = bench.said_once("open_session")
    bench.hear(command, open_session=session_pb2.OpenSessionResponse(session=told_session()))
    bench.said_once("close_session")


def test_an_opening_that_nobody_waits_for_does_not_keep_its_id() -> None:
    bench = Bench()
    bench.opening().drop()
    bench.said_once("open_session")
    following = bench.opening()
    closing = bench.said_once("close_session")
    assert not following.is_done, "not refused"
    bench.hear(closing, close_session=session_pb2.CloseSessionResponse())
    bench.said_once("open_session")


def test_a_session_that_has_ended_elsewhere_is_lost_with_the_reason() -> None:
    bench = Bench()
    live = bench.session()
    hold = bench.hold(live, 7).hold
    bench.hear(0, session_ended=pb.SessionEnded(session_id="a", reason=session_pb2.END_REASON_EXPIRED))
    assert hold.lost() == live.presence.lost
    assert str(live.presence.lost) == "expired"


def test_with_a_grace_the_server_is_pinged_at_a_third_of_it() -> None:
    bench = Bench()
    granted = told_session(ttl=LONG, grace=GRACE)
    live = bench.session(ttl=LONG, disconnect_grace=GRACE, granted=granted)
    for _ in range(20):
        bench.pass_time(GRACE // 3)
        bench.hear(bench.said_once("keep_alive"), keep_alive=kept(ttl=LONG))
        assert live.presence.validity.until == bench.now + SAFE, "counted from the sending of the ping"
    bench.pass_time(GRACE // 3 + GRACE // 4)
    assert bench.engine.take_verdict() == Verdict.BROKEN, "there is still time to go elsewhere"


def test_a_grace_that_is_told_on_attaching_is_in_force() -> None:
    bench = Bench()
    live = bench.session()
    bench.reconnect()
    answer = attached(ttl=LONG, grace=GRACE)
    bench.hear(bench.said_once("attach_session"), attached_session=answer)
    bench.pass_time(GRACE // 3)
    bench.said_once("keep_alive")
    bench.pass_time(SAFE - GRACE // 3)
    assert live.presence.check(bench.now) == SessionState.LOST
    assert bench.said()[-1].WhichOneof("kind") == "close_session", "noticed without anybody asking"


def test_shutting_down_closes_what_is_open() -> None:
    bench = Bench()
    hold = bench.hold(bench.session(), 7).hold
    reply: Reply[None] = Reply()
    bench.engine.shut_down(bench.now + CALL, reply, bench.now)
    assert hold.lost() == Lost(LostReason.CLOSED)
    assert not bench.engine.take_shut_down()
    bench.hear(bench.said_once("close_session"), close_session=session_pb2.CloseSessionResponse())
    assert bench.engine.take_shut_down()
    assert reply.is_done


def test_without_progress_a_session_is_at_risk_and_then_lost() -> None:
    bench = Bench()
    live, _ = bench.depending("a", GRACE)
    # Renewed at 400, and at 800 not any more: 600 after the opening it is stalled.
    assert bench.pass_renewing(1127 * MS) == 1
    assert live.presence.check(bench.now) == SessionState.HEALTHY
    bench.pass_time(MS)
    assert live.presence.check(bench.now) == SessionState.AT_RISK
    bench.pass_time(400 * MS)
    assert live.presence.lost == Lost(LostReason.STALLED)
    bench.said_once("close_session")


def test_progress_before_the_deadline_makes_it_safe_again() -> None:
    bench = Bench()
    live, progress = bench.depending("a", GRACE)
    bench.pass_renewing(1450 * MS)
    assert live.presence.check(bench.now) == SessionState.AT_RISK
    progress.tick(bench.now)
    bench.pass_time(50 * MS)
    bench.hear(bench.said_once("keep_alive"), keep_alive=kept())
    assert live.presence.check(bench.now) == SessionState.HEALTHY


def test_what_was_held_back_for_want_of_progress_is_renewed_within_the_grace() -> None:
    bench = Bench()
    progress = Progress(GRACE, bench.now)
    granted = told_session(ttl=LONG, grace=GRACE)
    bench.session(ttl=LONG, disconnect_grace=GRACE, progress=progress, granted=granted)
    for _ in range(2):
        bench.pass_time(GRACE // 3)
        bench.hear(bench.said_once("keep_alive"), keep_alive=kept(ttl=LONG))
    bench.pass_time(GRACE // 2)
    assert bench.said() == [], "stalled since the third renewal was due"
    progress.tick(bench.now)
    # Eight looks to a third of the grace.
    bench.pass_time(GRACE // 24)
    bench.said_once("keep_alive")


def test_one_without_progress_is_left_out_of_the_others_renewal() -> None:
    bench = Bench()
    bench.depending("a", GRACE)
    bench.session("b")
    bench.pass_renewing(500 * MS)
    bench.pass_time(300 * MS)
    assert bench.said_once("keep_alive").keep_alive.session_ids == ["b"]


def test_nothing_else_renews_it_either() -> None:
    bench = Bench()
    live, progress = bench.depending("a", GRACE)
    bench.pass_renewing(700 * MS)
    bench.acquire(live)
    bench.pass_time(100 * MS)
    assert bench.said() == []
    bench.reconnect()
    bench.pass_time(100 * MS)
    assert bench.said() == []
    progress.tick(bench.now)
    bench.pass_time(TTL // 24)
    bench.hear(bench.said_once("attach_session"), attached_session=attached(revision=1))
    bench.said_once("acquire")


def test_nobody_waits_for_a_session_where_nobody_knows_who_asks() -> None:
    bench = Bench()
    live = bench.session("open")
    asked = bench.opening("asked")
    bench.said_once("open_session")
    bench.engine.disconnected("gone")
    unasked = bench.opening("unasked")
    bench.engine.openings.refuse_all(Refusal("UNAUTHENTICATED", metadata={"rule": "known-token"}), bench.now)
    for reply in (asked, unasked):
        assert isinstance(reply.error, RefusedError)
        assert reply.error.metadata == {"rule": "known-token"}
    bench.engine.connected(bench.now)
    said = {command.WhichOneof("kind"): command for command in bench.said()}
    assert set(said) == {"attach_session", "close_session"}, "the open one goes on"
    assert said["close_session"].close_session.session_id == "asked", "it may have been opened"
    assert live.presence.is_valid()


def test_a_session_whose_id_another_program_uses_is_lost_and_not_closed() -> None:
    bench = Bench()
    live = bench.session()
    bench.reconnect()
    bench.refuse(bench.said_once("attach_session"), "SESSION_IN_USE")
    assert live.presence.lost == Lost(LostReason.IN_USE)
    assert bench.said() == [], "closing it would end the session of the other program"


def test_open_of_a_session_that_another_program_uses_is_refused_and_closes_nothing() -> None:
    bench = Bench()
    reply = bench.opening()
    bench.refuse(bench.said_once("open_session"), "SESSION_IN_USE")
    assert isinstance(reply.error, RefusedError)
    assert reply.error.reason == "SESSION_IN_USE"
    assert bench.said() == []
