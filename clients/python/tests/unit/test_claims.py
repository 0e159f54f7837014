"""Claims: asked for, granted, given up, given back, lost."""

from typing import Any

import pytest

from tenure import convert
from tenure._engine.claims import Entry
from tenure._engine.engine import Verdict
from tenure._engine.reply import Reply
from tenure.clock import MILLISECOND, SECOND
from tenure.errors import Lost, LostError, LostReason, RefusedError, UnavailableError
from tenure.model import Busy, EndReason
from tenure.request import acquire_spec
from tenure.v1 import lock_pb2, session_pb2
from tenure.v1 import stream_pb2 as pb
from tests.unit.bench import CALL, TTL, Bench, acquired, attached, granted, kept, told_session

MS = MILLISECOND


def test_a_hold_that_is_not_there_any_more_is_lost_on_attaching() -> None:
    bench = Bench()
    live = bench.session()
    hold = bench.hold(live, 7).hold
    # The second is a state from before the grant, and says nothing about it.
    for tokens, revision in [([7], 9), ([], 6)]:
        bench.reconnect()
        bench.hear(bench.said_once("attach_session"), attached_session=attached(tokens, revision))
        assert hold.is_valid()
    bench.reconnect()
    bench.hear(bench.said_once("attach_session"), attached_session=attached([], 9))
    assert hold.lost() == Lost(LostReason.FORGOTTEN)
    assert live.presence.is_valid()


def test_a_waiting_acquire_is_asked_again_with_what_is_left_of_its_wait() -> None:
    bench = Bench()
    live = bench.session()
    _, reply = bench.acquire(live, SECOND)
    assert bench.said_once("acquire").acquire.wait == convert.to_wire(SECOND)
    bench.pass_time(300 * MS)
    bench.reconnect()
    bench.hear(bench.said_once("attach_session"), attached_session=attached())
    command = bench.said_once("acquire")
    assert command.acquire.wait == convert.to_wire(700 * MS)
    bench.hear(command, acquire=acquired(3))
    assert granted(reply).hold.token == 3


def test_an_acquire_that_was_given_up_ends_before_it_is_withdrawn() -> None:
    bench = Bench()
    live = bench.session()
    entry, _ = bench.acquire(live)
    acquire = bench.said_once("acquire")
    bench.engine.claims.drop(entry, bench.now)
    assert bench.said_once("cancel").cancel.command_id == acquire.id
    _, following = bench.acquire(live)
    assert bench.said() == [], "the next one waits for its turn"
    # It was granted meanwhile.
    bench.hear(acquire, acquire=acquired(3))
    bench.hear(bench.said_once("cancel_acquire"), cancel_acquire=lock_pb2.CancelAcquireResponse(revision=4))
    bench.hear(bench.said_once("acquire"), acquire=acquired(5))
    assert granted(following).hold.token == 5


def test_a_grant_that_nobody_receives_is_released() -> None:
    bench = Bench()
    _, reply = bench.acquire(bench.session())
    command = bench.said_once("acquire")
    reply.drop()
    bench.hear(command, acquire=acquired(3))
    assert bench.said_once("release").release.token == 3


def test_what_is_refused_for_now_is_tried_again_until_its_deadline() -> None:
    bench = Bench()
    _, reply = bench.acquire(bench.session(), 0)
    asked, tries = bench.now, 0
    while not reply.is_done:
        assert bench.now - asked <= CALL
        for command in bench.said():
            if command.HasField("acquire"):
                tries += 1
                bench.refuse(command, "STORE_UNAVAILABLE")
            elif command.HasField("keep_alive"):
                bench.hear(command, keep_alive=kept())
        bench.pass_time(10 * MS)
    assert isinstance(reply.error, RefusedError)
    assert reply.error.is_transient
    assert 10 <= tries < 200
    assert bench.engine.take_verdict() is None, "the server is not to blame"


def test_what_is_never_answered_is_unavailable_at_its_deadline() -> None:
    bench = Bench()
    live = bench.session(granted=told_session(ttl=60 * SECOND))
    _, reply = bench.acquire(live, 0)
    bench.said_once("acquire")
    bench.engine.disconnected("gone")
    bench.pass_time(CALL)
    assert isinstance(reply.error, UnavailableError)
    assert reply.error.problem == "gone"


@pytest.mark.parametrize("reason", ["DRAINING", "LEASE_LOST"])
def test_a_server_that_refuses_because_it_goes_is_left(reason: str) -> None:
    bench = Bench()
    bench.acquire(bench.session())
    bench.refuse(bench.said_once("acquire"), reason)
    assert bench.engine.take_verdict() == Verdict.LEAVE


def test_requests_of_one_session_take_turns() -> None:
    bench = Bench()
    live = bench.session()
    first = bench.hold(live, 3)
    _, second = bench.acquire(live)
    reply: Reply[object] = Reply()
    assert bench.engine.claims.acquire(live, acquire_spec(["job"]), 0, CALL, reply, bench.now) is None  # type: ignore[arg-type]
    assert isinstance(reply.value, Busy)
    assert reply.value.holder is not None
    assert reply.value.holder.token == 3
    assert bench.said() == []
    bench.engine.claims.release(first.entry, bench.now + CALL, None, bench.now)
    assert first.hold.lost() == Lost(LostReason.RELEASED)
    bench.hear(bench.said_once("release"), release=lock_pb2.ReleaseResponse())
    bench.hear(bench.said_once("acquire"), acquire=acquired(5))
    assert granted(second).hold.token == 5


def test_a_wait_in_the_local_queue_ends_as_busy() -> None:
    bench = Bench()
    live = bench.session(granted=told_session(ttl=60 * SECOND))
    bench.hold(live, 3)
    _, reply = bench.acquire(live, SECOND // 4)
    bench.pass_time(SECOND // 4)
    assert isinstance(reply.value, Busy)


def test_a_release_is_repeated_until_it_is_answered() -> None:
    bench = Bench()
    grant = bench.hold(bench.session(), 3)
    reply: Reply[None] = Reply()
    bench.engine.claims.release(grant.entry, bench.now + CALL, reply, bench.now)
    bench.said_once("release")
    bench.reconnect()
    bench.hear(bench.said_once("attach_session"), attached_session=attached())
    bench.hear(bench.said_once("release"), release=lock_pb2.ReleaseResponse())
    assert reply.is_done
    assert reply.error is None


def test_a_release_of_what_only_the_server_knows_to_be_lost_tells_that() -> None:
    bench = Bench()
    grant = bench.hold(bench.session(), 3)
    reply: Reply[None] = Reply()
    bench.engine.claims.release(grant.entry, bench.now + CALL, reply, bench.now)
    bench.refuse(bench.said_once("release"), "HOLD_ENDED", end_reason="evicted")
    assert isinstance(reply.error, LostError)
    assert reply.error.lost == Lost(LostReason.ENDED, EndReason.EVICTED)


def test_a_claim_whose_place_was_given_up_is_asked_for_again() -> None:
    bench = Bench()
    _, reply = bench.acquire(bench.session())
    bench.refuse(bench.said_once("acquire"), "CLAIM_ENDED", end_reason="disconnected")
    bench.pass_time(20 * MS)
    bench.hear(bench.said_once("acquire"), acquire=acquired(3))
    assert granted(reply).hold.is_valid()


def test_what_was_given_back_and_is_there_again_is_given_back_again() -> None:
    bench = Bench()
    bench.session()
    bench.reconnect()
    answer = attached([7], 20)
    answer.session.claims.add(names=["other"], state=session_pb2.CLAIM_STATE_WAITING)
    bench.hear(bench.said_once("attach_session"), attached_session=answer)
    release, cancel = bench.said()
    assert release.release.token == 7
    assert cancel.cancel_acquire.names == ["other"]
    bench.refuse(release, "STORE_UNAVAILABLE")
    bench.pass_time(TTL // 3)
    bench.said_once("attach_session")


def test_what_is_asked_for_again_is_not_given_back() -> None:
    bench = Bench()
    _, reply = bench.acquire(bench.session())
    bench.said_once("acquire")
    bench.reconnect()
    bench.hear(bench.said_once("attach_session"), attached_session=attached([7], 20))
    bench.hear(bench.said_once("acquire"), acquire=acquired(7))
    assert granted(reply).hold.token == 7


def ended(token: int) -> pb.HoldEnded:
    return pb.HoldEnded(
        session_id="a", names=["job"], token=token, reason=session_pb2.END_REASON_EVICTED, operator="ops"
    )


def test_the_end_of_a_hold_may_be_told_before_its_beginning() -> None:
    bench = Bench()
    live = bench.session()
    _, reply = bench.acquire(live)
    command = bench.said_once("acquire")
    bench.hear(0, hold_ended=ended(3))
    bench.hear(command, acquire=acquired(3))
    grant = granted(reply)
    assert grant.hold.lost() == Lost(LostReason.ENDED, EndReason.EVICTED, "ops")
    bench.engine.claims.drop(grant.entry, bench.now)
    assert bench.said() == [], "there is nothing to give back"
    bench.hold(live, 5)


def test_the_ends_of_holds_are_told_each_to_its_own() -> None:
    bench = Bench()
    live = bench.session()
    holds = [bench.hold(live, token, acquire_spec([f"job-{token}"])).hold for token in range(1, 5)]
    told = [pb.HoldEnded(session_id="a", names=[f"job-{token}"], token=token) for token in (3, 1, 1)]
    for end in told:
        bench.hear(0, hold_ended=end)
    assert [hold.is_valid() for hold in holds] == [False, True, False, True]
    bench.hear(0, hold_ended=pb.HoldEnded(session_id="a", names=["job-2"], token=1))
    assert holds[1].is_valid(), "that was another hold"
    assert bench.said() == []
    assert set(live.holds) == {2, 4}


def test_the_end_of_an_earlier_hold_says_nothing_about_the_next() -> None:
    bench = Bench()
    _, reply = bench.acquire(bench.session())
    command = bench.said_once("acquire")
    bench.hear(0, hold_ended=ended(3))
    bench.hear(command, acquire=acquired(5))
    assert granted(reply).hold.is_valid()


def test_a_handoff_may_be_asked_for_before_the_grant_is_told() -> None:
    bench = Bench()
    _, reply = bench.acquire(bench.session())
    command = bench.said_once("acquire")
    request = pb.TransferRequested(session_id="a", names=["job"], token=3, drain=convert.to_wire(SECOND))
    bench.hear(0, transfer_requested=request)
    bench.hear(command, acquire=acquired(3))
    asked = granted(reply).hold.transfer_request
    assert asked is not None
    assert asked.drain == 1.0
    assert 0 < asked.remaining <= 0.8, "the release has to reach the server in time"


def test_the_progress_of_a_hold_counts_from_its_grant_to_its_end() -> None:
    bench = Bench()
    live = bench.session()
    assert bench.pass_renewing(2 * SECOND) > 3
    grant = bench.hold(live, 7, acquire_spec(["job"], stall_after=0.6))
    progress = grant.hold.progress
    assert progress is not None
    for _ in range(5):
        bench.pass_renewing(500 * MS)
        progress.tick(bench.now)
    assert bench.pass_renewing(1200 * MS) <= 2
    bench.engine.claims.release(grant.entry, bench.now + CALL, None, bench.now)
    bench.hear(bench.said_once("release"), release=lock_pb2.ReleaseResponse())
    assert bench.pass_renewing(2 * SECOND) > 3


def test_a_session_that_is_lost_takes_its_waits_along() -> None:
    bench = Bench()
    live = bench.session()
    _, reply = bench.acquire(live)
    bench.engine.disconnected("gone")
    bench.pass_time(1128 * MS)
    assert str(reply.error) == "lost: no renewal was answered in time"


class Counting(dict[int, Entry]):
    """Claims that count how many of them were looked at one after the other."""

    looked_at = 0

    def values(self) -> Any:
        self.looked_at += len(self)
        return super().values()

    def items(self) -> Any:
        self.looked_at += len(self)
        return super().items()

    def __iter__(self) -> Any:
        self.looked_at += len(self)
        return super().__iter__()


def test_acquire_and_release_look_at_no_other_claim_of_the_session() -> None:
    bench = Bench()
    live = bench.session()
    live.claims = claims = Counting()
    holds = [bench.hold(live, token, acquire_spec([f"job-{token}"])) for token in range(1, 101)]
    for held in holds:
        bench.engine.claims.release(held.entry, bench.now + CALL, None, bench.now)
        bench.hear(bench.said_once("release"), release=lock_pb2.ReleaseResponse())
    assert not claims
    assert claims.looked_at == 0
