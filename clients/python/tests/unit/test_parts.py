"""The small parts."""

import pytest

from tenure._engine.timers import Act, Timers
from tenure._engine.turns import Turns
from tenure._link.backoff import Backoff
from tenure._link.dial import stagger
from tenure.clock import MILLISECOND, SECOND
from tenure.endpoint import Endpoint, parse_endpoint, parse_endpoints
from tenure.errors import InvalidError, Lost, LostReason, Refusal
from tenure.handoff import stop_at
from tenure.leader import Leader, leader_after
from tenure.model import Claim, ClaimState, EndReason, Event, EventKind, Mode
from tenure.progress import Progress
from tenure.request import acquire_spec, uuid7

MS = MILLISECOND


def test_timers_come_due_in_order_however_they_were_set() -> None:
    timers, done = Timers(), []

    def note(number: int) -> Act:
        return lambda _: done.append(number)

    kept = {number: timers.set(number, note(number)) for number in (3, 1, 2, 5)}
    timers.clear(kept[2])
    assert timers.next() == 1
    while (act := timers.pop(4)) is not None:
        act(4)
    assert done == [1, 3]
    assert timers.next() == 5


def test_claims_that_share_a_name_take_turns_in_order_of_arrival() -> None:
    turns = Turns()
    assert turns.join(1, ["a"])
    assert not turns.join(2, ["a", "b"])
    assert not turns.join(3, ["b"]), "nobody overtakes"
    assert turns.first_in_way(["c", "b"]) == 2
    assert turns.leave(1, ["a"]) == [2]
    assert turns.is_first(2, ["a", "b"])
    assert turns.leave(2, ["a", "b"]) == [3]
    assert turns.leave(3, ["b"]) == []
    assert turns.first_in_way(["a", "b"]) is None, "idle names leave nothing behind"


def test_pauses_grow_within_their_bounds() -> None:
    pauses = Backoff(50 * MS, SECOND)
    drawn = [pauses.next_pause() for _ in range(40)]
    assert 25 * MS <= drawn[0] <= 50 * MS
    assert 50 * MS <= drawn[1] <= 100 * MS
    assert all(SECOND // 2 <= pause <= SECOND for pause in drawn[20:])
    pauses.reset()
    assert pauses.next_pause() <= 50 * MS


def test_the_next_endpoint_is_tried_in_time_for_the_shortest_window() -> None:
    assert stagger(200 * MS, None) == 50 * MS
    assert stagger(5 * SECOND, None) == 100 * MS
    assert stagger(5 * SECOND, 600 * MS) == 50 * MS
    assert stagger(5 * SECOND, 12 * MS) == 10 * MS


def test_endpoints_are_separated_by_commas() -> None:
    assert parse_endpoints("http://a:1, b:2,https://c") == [
        Endpoint("a", 1),
        Endpoint("b", 2),
        Endpoint("c", 443, is_encrypted=True),
    ]
    assert parse_endpoint("[::1]:7420").target == "[::1]:7420"
    assert str(parse_endpoint("https://[::1]:7420")) == "https://[::1]:7420"


@pytest.mark.parametrize("endpoints", ["", "ftp://a", "https://", "http://", "http://a b", "a:b"])
def test_what_is_no_endpoint_is_refused(endpoints: str) -> None:
    with pytest.raises(InvalidError) as refused:
        parse_endpoints(endpoints)
    assert refused.value.field == "endpoints"


def test_names_are_sorted_by_bytes_and_are_different() -> None:
    assert acquire_spec(["b", "a"]).names == ("a", "b")
    for names in ([], ["a", "a"]):
        with pytest.raises(InvalidError, match="names"):
            acquire_spec(names)


def test_modes_follow_from_what_is_said() -> None:
    assert acquire_spec(["a"]).mode == Mode.EXCLUSIVE
    assert acquire_spec(["a"], shared=True).mode == Mode.SHARED
    counted = acquire_spec(["a"], limit=3)
    assert (counted.mode, counted.permits, counted.limit) == (Mode.PERMITS, 1, 3)
    with pytest.raises(InvalidError):
        acquire_spec(["a"], shared=True, permits=1)


def test_fresh_ids_sort_by_time_and_are_of_version_7() -> None:
    ids = [uuid7() for _ in range(100)]
    assert len(set(ids)) == 100
    assert all(one[14] == "7" for one in ids)


def test_the_work_stops_before_the_drain_is_over() -> None:
    for drain, left in [(100, 80), (1000, 800), (10_000, 9000), (60_000, 59_000)]:
        assert stop_at(drain * MS, SECOND) == SECOND + left * MS


def test_each_tick_lasts_for_its_time_and_the_first_from_the_opening() -> None:
    progress = Progress(5 * SECOND, SECOND)
    assert not progress.is_stalled(0, 6 * SECOND - 1)
    assert progress.is_stalled(0, 6 * SECOND)
    assert not progress.is_stalled(60 * SECOND, 65 * SECOND - 1)
    progress.tick(7 * SECOND)
    assert not progress.is_stalled(0, 12 * SECOND - 1)
    with pytest.raises(InvalidError, match="stall_after"):
        Progress(0, 0)


def test_reasons_say_who_and_why() -> None:
    assert str(Lost(LostReason.ENDED, EndReason.EVICTED, "ops", "stuck")) == "evicted by ops (stuck)"
    assert str(Lost(LostReason.ENDED, EndReason.EXPIRED)) == "expired"
    assert Refusal("OVERLOADED").is_transient
    assert not Refusal("NOT_HOLDER").is_transient
    assert Refusal("HOLD_ENDED", metadata={"end_reason": "eaten"}).end_reason == EndReason.UNKNOWN


def event(kind: EventKind, token: int | None, vacant: bool = False) -> Event:
    claim = Claim(1, ("x",), ClaimState.HELD, token, "s", "ann", {}, 0, 0.0, Mode.EXCLUSIVE)
    return Event(9, "x", kind, claim, None, None, None, vacant, None, None, None)


def test_who_leads_follows_from_events() -> None:
    ann = Leader(3, "s", "ann", {})
    assert leader_after([event(EventKind.QUEUED, None), event(EventKind.GRANTED, 3)], None) == ann
    assert leader_after([event(EventKind.ENDED, None)], ann) == ann, "a waiter left"
    assert leader_after([event(EventKind.ENDED, 3, vacant=True)], ann) is None
